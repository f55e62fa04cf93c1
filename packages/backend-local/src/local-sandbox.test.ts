import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isSandboxError } from '@cofferdam/core/plugin'
import type { Sandbox, SandboxClient, SpawnRequest } from '@cofferdam/core/plugin'
import { runDriver } from '@cofferdam/testkit'
import type { LocalState } from './local-state.js'
import { openTestClient } from './open-client.fixture.js'
import { readEnvironment, readProcessTable } from './process/find-processes.js'
import { sandboxRequest } from './sandbox-request.fixture.js'

let root: string
let client: SandboxClient<LocalState>
let operations = 0

beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-sandbox-')))
  client = await openTestClient(root)
})

afterEach(async () => {
  for await (const { state } of client.list({ deployment: 'test' })) await client.delete(state)
  rmSync(root, { recursive: true, force: true })
})

async function started(fence = 1n): Promise<Sandbox<LocalState>> {
  const sandbox = await client.create(sandboxRequest())
  await sandbox.start({ fence })
  return sandbox
}

const request = (command: SpawnRequest['command'], more: Partial<SpawnRequest> = {}): SpawnRequest => ({
  operationId: `op-${++operations}`,
  command,
  ...more,
})
const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text()
const codeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'ok',
    (error: unknown) => (isSandboxError(error) ? error.code : String(error)),
  )

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Asks until the answer is yes; the test's own timeout is the bound. */
async function until(probe: () => boolean): Promise<void> {
  while (!probe()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Living processes whose argument vector is exactly this. */
function running(argv: string): number[] {
  const wanted = `${argv.replaceAll(' ', '\0')}\0`
  return readProcessTable().flatMap(({ pid, isZombie }) => {
    if (isZombie || !existsSync(`/proc/${pid}/cmdline`)) return []
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === wanted ? [pid] : []
    } catch {
      return []
    }
  })
}

/** A number of seconds that no other process sleeps. */
const uniqueSleep = (): string => `sleep ${100_000 + Math.floor(Math.random() * 800_000)}`

describe.runIf(process.platform === 'linux')('killing', () => {
  it.each<[what: string, script: (sleep: string) => string]>([
    ['a child', (sleep) => `${sleep} & wait`],
    ['a child in a session of its own', (sleep) => `setsid ${sleep} & wait`],
    ['a daemon that was forked twice', (sleep) => `(setsid sh -c '${sleep} & exec sleep 0.01' &) ; exec sleep 3600`],
    ['one that ignores what asks it to end', (sleep) => `trap '' TERM HUP INT; ${sleep} & wait`],
    ['one without environment, whose parent lives', (sleep) => `env -i setsid ${sleep} & wait`],
    ['one without environment in the group', (sleep) => `(env -i ${sleep} &) ; exec sleep 3600`],
  ])('ends %s with the command', async (_what, script) => {
    const sleep = uniqueSleep()
    const sandbox = await started()
    const process = await sandbox.spawn(request(script(sleep)))
    await until(() => running(sleep).length > 0)
    await process.kill()
    expect(running(sleep)).toEqual([])
    expect((await process.wait()).signal).toBe('SIGKILL')
    await process.kill()
  })

  it('ends the whole tree when the time runs out, and says so only then', async () => {
    const sleep = uniqueSleep()
    const sandbox = await started()
    const process = await sandbox.spawn(request(`setsid ${sleep} & echo before; wait`, { timeoutMs: 250 }))
    const [output, exit] = await Promise.all([textOf(process.stdout), process.wait()])
    expect([output, exit.timedOut, running(sleep)]).toEqual(['before\n', true, []])
  })

  it('ends a process that never stands still: each forks the next and is gone', async () => {
    const mark = `hop-${Math.random()}`
    const sandbox = await started()
    const env = { MARK: mark, HOP: 'sh -c "$HOP" & exit' }
    const process = await sandbox.spawn(request('sh -c "$HOP"; exec sleep 3600', { env, timeoutMs: 500 }))
    await Promise.all([process.stdout.cancel(), process.stderr.cancel(), process.wait()])
    const marked = ({ pid, isZombie }: { pid: number; isZombie: boolean }): boolean =>
      !isZombie && readEnvironment(pid).includes(`MARK=${mark}`)
    expect(readProcessTable().filter(marked)).toEqual([])
  })
})

describe('output', () => {
  it('blocks a command whose output nobody reads, and grows by nothing', async () => {
    const sandbox = await started()
    const process = await sandbox.spawn(request('head -c 100000000 /dev/zero; echo end >&2'))
    const reader = process.stdout.getReader()
    await reader.read()
    const before = globalThis.process.memoryUsage()
    const errors = process.stderr.getReader().read()
    const first = await Promise.race([errors, new Promise((resolve) => setTimeout(resolve, 300, 'blocked'))])
    const after = globalThis.process.memoryUsage()
    expect(first).toBe('blocked')
    expect(after.rss - before.rss).toBeLessThan(16 << 20)
    let size = 0
    for (let next = await reader.read(); !next.done; next = await reader.read()) size += next.value.length
    expect(size).toBeGreaterThan(99_000_000)
    expect((await process.wait()).exitCode).toBe(0)
  })

  it('ends with the command, while a child that it left goes on writing and is not ended by it', async () => {
    const sandbox = await started()
    const lingering = 'i=0; while [ $i -lt 200 ]; do echo noise; i=$((i+1)); done; echo done > finished'
    const process = await sandbox.spawn(request(`(while [ ! -e go ]; do sleep 0.01; done; ${lingering}) & echo first`))
    expect(await textOf(process.stdout)).toBe('first\n')
    expect((await process.wait()).exitCode).toBe(0)
    const { workspace } = sandbox.paths
    writeFileSync(`${workspace}/go`, '')
    await until(() => existsSync(`${workspace}/finished`))
    const attached = await sandbox.attach(process.id)
    expect(await textOf(attached.process.stdout)).toBe('noise\n'.repeat(200))
  })

  it('remembers the last 256 KiB for those who attach, and counts what is gone', async () => {
    const sandbox = await started()
    const process = await sandbox.spawn(request('seq 1 200000', { background: true }))
    await Promise.all([process.stdout.cancel(), process.stderr.cancel(), process.wait()])
    const whole = Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join('')
    const {
      firstOffset,
      availableBytes,
      droppedBytes,
      process: again,
    } = await sandbox.attach(process.id, { fromOffset: 0 })
    expect(await textOf(again.stdout)).toBe(whole.slice(-256 * 1024))
    expect([firstOffset, droppedBytes, availableBytes]).toEqual([
      whole.length - (256 << 10),
      whole.length - (256 << 10),
      256 << 10,
    ])
  })

  it('leaves no descriptor open after many commands', async () => {
    const sandbox = await started()
    const run = async (read: boolean): Promise<void> => {
      const process = await sandbox.spawn(request('echo x; sleep 0 &'))
      if (read) await Promise.all([textOf(process.stdout), textOf(process.stderr)])
      await process.wait()
      await process[Symbol.asyncDispose]()
    }
    await run(true)
    const open = (): number => readdirSync('/proc/self/fd').length
    const before = open()
    for (let i = 0; i < 20; i++) await Promise.all([run(true), run(false)])
    await until(() => open() <= before)
  })
})

describe('a host that died', () => {
  it('leaves the workspace to the next, who ends what it left running', async () => {
    const end = await runDriver(new URL('./host-death.driver.ts', import.meta.url), {
      args: [root],
      onLine: (_line, pid) => process.kill(pid, 'SIGKILL'),
    })
    expect(end.how).toBe('killed')
    const leftovers = (): number[] =>
      readProcessTable().flatMap(({ pid, isZombie }) =>
        !isZombie && readEnvironment(pid).some((line) => line.startsWith(`HOME=${root}/`)) ? [pid] : [],
      )
    expect(leftovers()).toHaveLength(1)
    const [found] = await allOf(client.list({ deployment: 'test' }))
    expect(found?.presence).toBe('running')
    const sandbox = await client.resume(found!.state, sandboxRequest())
    await sandbox.start({ fence: 2n })
    expect(leftovers()).toEqual([])
    expect(await textOf(await sandbox.files.read(`${sandbox.paths.workspace}/work`))).toBe('unsaved')
  })

  it('leaves running what it parked, to be seen and ended by the next', async () => {
    const end = await runDriver(new URL('./host-death.driver.ts', import.meta.url), { args: [root, 'park'] })
    expect(end.exitCode).toBe(0)
    const [found] = await allOf(client.list({ deployment: 'test' }))
    const sandbox = await client.resume(found!.state, sandboxRequest())
    await sandbox.start({ fence: 2n })
    const [info] = await sandbox.processes()
    expect(info).toMatchObject({
      id: end.stdout.trim(),
      operationId: 'left behind',
      status: 'running',
      background: true,
      keepOnPark: true,
      command: 'sleep 3600',
    })
    const { process } = await sandbox.attach(info!.id)
    const exit = codeOf(process.wait())
    await process.kill()
    expect(await exit).toBe('transport_lost')
    expect(await sandbox.processes()).toEqual([])
  })

  it('in the middle of a removal leaves something that is listed and can be removed', async () => {
    const sandbox = await started()
    mkdirSync(`${sandbox.paths.workspace}/protected/deep`, { recursive: true, mode: 0o500 })
    await sandbox[Symbol.asyncDispose]()
    renameSync(`${root}/sandboxes/${sandbox.id}`, `${root}/sandboxes/.gone-${sandbox.id}-0123456789ab`)
    expect(await client.probe(sandbox.state)).toBe('absent')
    const listed = await allOf(client.list({ deployment: 'test', slotHash: 'ab' }))
    expect(listed.map(({ id }) => id)).toEqual([sandbox.id])
    await client.delete(listed[0]!.state)
    expect(readdirSync(`${root}/sandboxes`)).toEqual([])
  })
})

describe('fences', () => {
  it('let the highest of many who start at once go on, and nobody else', async () => {
    const others = await Promise.all(Array.from({ length: 8 }, () => client.create(sandboxRequest())))
    const outcomes = await Promise.all(others.map((sandbox, i) => codeOf(sandbox.start({ fence: BigInt(i + 1) }))))
    expect(outcomes.at(-1)).toBe('ok')
    const ran = await Promise.all(others.map((sandbox) => codeOf(sandbox.spawn(request('true')))))
    expect(ran.slice(0, -1).every((code) => code === 'lease_lost' || code === 'not_running')).toBe(true)
    expect(ran.at(-1)).toBe('ok')
    await others.at(-1)?.shutdown()
    for (const sandbox of others) await sandbox[Symbol.asyncDispose]()
  })

  it('end what the lower holder ran, and cut off its files', async () => {
    const sleep = uniqueSleep()
    const sandbox = await started(1n)
    const process = await sandbox.spawn(request(`setsid ${sleep} & wait`))
    await until(() => running(sleep).length > 0)
    const next = await client.resume(sandbox.state, sandboxRequest())
    await next.start({ fence: 2n })
    expect(running(sleep)).toEqual([])
    expect((await process.wait()).signal).toBe('SIGKILL')
    const late = new TextEncoder().encode('late')
    expect(await codeOf(sandbox.files.write(`${sandbox.paths.workspace}/f`, late))).toBe('lease_lost')
    expect(await codeOf(sandbox.stop())).toBe('lease_lost')
    expect(await codeOf(next.files.write(`${sandbox.paths.workspace}/f`, late))).toBe('ok')
  })
})

describe('a sandbox that its own commands tampered with', () => {
  it('is refused when a link to anywhere stands in the place of a folder, and hides no other from the list', async () => {
    const [bad, good] = [sandboxRequest(), sandboxRequest({ name: 'other' })]
    const sandbox = await client.create(bad)
    await client.create(good)
    const folder = dirname(sandbox.paths.workspace)
    renameSync(sandbox.paths.workspace, join(folder, 'aside'))
    symlinkSync(root, sandbox.paths.workspace)
    expect(await codeOf(client.resume(sandbox.state, bad))).toBe('state_corrupt')
    const listed = await allOf(client.list({ deployment: good.identity.deployment }))
    expect(listed.map(({ name }) => name)).toEqual([good.name])
    writeFileSync(join(folder, 'labels.json'), '{')
    expect(await codeOf(client.resume(sandbox.state, bad))).toBe('state_corrupt')
  })
})
