import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'

await using host = await createHost({ plugins: [localBackend()] })
await using session = await host.acquire({
  manifest: { entries: { 'greet.sh': { kind: 'file', text: 'echo "hello, $1"' } } },
  afterRelease: 'destroy',
})
const { stdout, exitCode } = await session.exec(['sh', 'greet.sh', 'world'])
await session.files.write('results/greeting.txt', stdout)
const found = await session.files.glob('**/*.txt')
console.log(exitCode, found.paths, await session.files.readText('results/greeting.txt'))
