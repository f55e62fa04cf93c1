import type { Sandbox } from '@cofferdam/core/plugin'
import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase, Needs } from '../../backend-case.js'
import { bytesOf } from '../../backend-context.js'
import type { BackendContext } from '../../backend-context.js'

const needsFencing: Needs = (features) =>
  (features.fencing && features.reattach) || 'features.fencing or features.reattach is false'

/** A holder slept, another one has started the sandbox with a higher fence meanwhile, and the first wakes up. */
export const OVERTAKEN_CASES: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-13',
    'fence.stale-holder',
    'refuses commands and writes of a holder who was overtaken',
    async (context) => {
      const { stale, fresh } = await overtaken(context)
      const path = `${stale.paths.workspace}/stale`
      await assertCode(stale.spawn({ operationId: context.operationId(), command: 'true' }), 'lease_lost', 'spawn')
      await assertCode(stale.files.write(path, bytesOf('x')), 'lease_lost', 'files.write')
      await assertCode(stale.files.mkdir(path), 'lease_lost', 'files.mkdir')
      await assertCode(stale.files.remove(`${stale.paths.workspace}/kept`), 'lease_lost', 'files.remove')
      await assertCode(stale.files.writeMany([], stale.paths.workspace), 'lease_lost', 'files.writeMany')
      assertEqual(await fresh.files.stat(path), undefined, 'what the stale holder wanted to write')
      assertEqual((await fresh.files.stat(`${stale.paths.workspace}/kept`))?.type, 'file', 'what it wanted to remove')
    },
    needsFencing,
  ],
  [
    'LIFE-13',
    'fence.ends-earlier-commands',
    'ends everything that a holder runs who is overtaken without having let go',
    async (context) => {
      const request = context.request()
      const old = await context.create(request)
      await old.start({ fence: 1n })
      const lost = await context.spawn(old, 'sleep 60')
      const kept = await context.spawn(old, 'sleep 60', { background: true, keepOnPark: true, timeoutMs: 0 })
      const fresh = await context.client.resume(old.state, request)
      context.defer(async () => fresh[Symbol.asyncDispose]())
      await fresh.start({ fence: 2n })
      const ends = await context.within('the ends of both', Promise.allSettled([lost.wait(), kept.wait()]))
      for (const end of ends) {
        assertTrue(
          !(end.status === 'fulfilled' && end.value.exitCode === 0),
          'neither looks like a command that succeeded',
        )
      }
      const running = (await fresh.processes()).filter((info) => info.status === 'running')
      assertEqual(running, [], 'commands that run on')
    },
    needsFencing,
  ],
  [
    'LIFE-13',
    'fence.stale-end',
    'keeps a holder who was overtaken from ending what the one after it runs',
    async (context) => {
      const { stale, fresh } = await overtaken(context)
      const { features } = context
      const process = await context.spawn(fresh, 'read line; echo "$line"', { stdin: 'pipe' })
      await assertCode(stale.stop(), 'lease_lost', 'stop')
      await assertCode(stale.shutdown(), 'lease_lost', 'shutdown')
      if (features.freeze) await assertCode(stale.freeze(), 'lease_lost', 'freeze')
      if (features.freeze) await assertCode(stale.thaw(), 'lease_lost', 'thaw')
      if (features.pause) await assertCode(stale.pause(), 'lease_lost', 'pause')
      if (features.pause) await assertCode(stale.unpause(), 'lease_lost', 'unpause')
      if (features.ports) await assertCode(stale.endpoint(8080), 'lease_lost', 'endpoint')
      await stale[Symbol.asyncDispose]()
      await stale[Symbol.asyncDispose]()
      await context.send(process, `${context.nonce}\n`)
      const output = await context.within('its output', new Response(process.stdout).text())
      assertEqual(output, `${context.nonce}\n`, 'output of a command of the new holder')
      assertEqual((await fresh.files.stat(`${fresh.paths.workspace}/kept`))?.type, 'file', 'a file of the sandbox')
    },
    needsFencing,
  ],
  [
    'LIFE-13',
    'fence.never-started',
    'lets a handle that was never started end the sandbox, as who reaps leftovers does',
    async (context) => {
      const request = context.request()
      const first = await context.create(request)
      await first.start({ fence: 3n })
      const reaper = await context.client.resume(first.state, request)
      await reaper.stop()
      await reaper.shutdown()
      await reaper[Symbol.asyncDispose]()
      assertEqual(await context.client.probe(first.state), 'absent', 'probe after it')
    },
    needsFencing,
  ],
])

/** A holder whose sandbox was started by another one since. */
async function overtaken(context: BackendContext): Promise<{
  readonly stale: Sandbox
  readonly fresh: Sandbox
}> {
  const request = context.request()
  const stale = await context.create(request)
  await stale.start({ fence: 1n })
  await stale.files.write(`${stale.paths.workspace}/kept`, bytesOf('kept'))
  const other = await context.otherClient()
  const fresh = await other.resume(stale.state, request)
  context.defer(async () => fresh[Symbol.asyncDispose]())
  await fresh.start({ fence: 2n })
  return { stale, fresh }
}
