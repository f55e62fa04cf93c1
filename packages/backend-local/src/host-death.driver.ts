/**
 * A host that makes a sandbox in the folder of its first argument, leaves something running there and says so. With `park` it
 * lets go in an orderly way and ends; else it waits to be killed.
 */
import { openTestClient } from './open-client.fixture.js'
import { sandboxRequest } from './sandbox-request.fixture.js'

const [root = '', how] = process.argv.slice(2)
const client = await openTestClient(root)
const sandbox = await client.create(sandboxRequest())
await sandbox.start({ fence: 1n })
await sandbox.files.write(`${sandbox.paths.workspace}/work`, new TextEncoder().encode('unsaved'))
const running = await sandbox.spawn({
  operationId: 'left behind',
  command: ['sleep', '3600'],
  timeoutMs: 0,
  background: true,
  keepOnPark: true,
})
if (how === 'park') {
  process.stdout.write(`${running.id}\n`)
  await sandbox[Symbol.asyncDispose]()
} else {
  process.stdout.write(`${running.id}\n`)
  setInterval(() => undefined, 1000)
}
