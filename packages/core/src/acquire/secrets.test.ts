import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { Host, SandboxEvent } from '@cofferdam/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startGitServer } from '../workspace/git-server.fixture.js'

/** Characters that base64, URLs and JSON each write in their own way. */
const CANARY = 'c4n4ry/tok+en "q"%&=~Zm9v-7f3a9b'
const GIT_CANARY = 'g1t-c4n4ry+/=pass?word'

let folder: string
let host: Host
let events: SandboxEvent[]
let logged: string[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cofferdam-secrets-'))
  events = []
  logged = []
  const log = (message: string, fields?: unknown): void => void logged.push(`${message} ${JSON.stringify(fields)}`)
  host = await createHost({
    plugins: [localBackend({ root: join(folder, 'sandboxes') })],
    baseDir: folder,
    dataDir: join(folder, 'data'),
    drainOnSignals: false,
    logger: { debug: log, info: log, warn: log, error: log },
    secrets: (ref) => {
      if (ref === 'token') return CANARY
      if (ref === 'git') return GIT_CANARY
      throw new Error(`the vault says that ${CANARY} does not open ${ref}`)
    },
  })
  host.onEvent((event) => events.push(event))
})
afterEach(async () => {
  await host[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** What gives a secret away: itself, base64 wherever it begins in a group of three bytes, hex, and as in URLs and JSON. */
function forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const shifted = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    // Without the characters at the edges, which hold bits of their neighbours.
    return encoded.slice(offset === 0 ? 0 : offset + 1, -4)
  })
  const url = [...shifted].map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    encodeURIComponent(secret),
    ...shifted,
    ...url,
  ]
}

const ALL = [...forms(CANARY), ...forms(GIT_CANARY)]

function found(text: string): string[] {
  return ALL.filter((form) => text.includes(form))
}

/** Every file below, by its bytes; compressed ones also unpacked. */
function leaksBelow(place: string): string[] {
  return readdirSync(place, { recursive: true })
    .map((path) => join(place, String(path)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .flatMap((path) => {
      const bytes = readFileSync(path)
      const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
      const text = bytes.toString('latin1') + (isGzip ? gunzipSync(bytes).toString('latin1') : '')
      return [...found(text), ...found(path)].map((form) => `${path}: ${form}`)
    })
}

function leaksInCommandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return found(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).map((form) => `${pid}: ${form}`)
      } catch {
        return []
      }
    })
}

/** An error with everything that somebody might print of it. */
function leaksIn(error: unknown): string[] {
  const json = JSON.stringify(error, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value instanceof Error ? { ...value, message: value.message } : value,
  )
  const stack = error instanceof Error ? `${error.message} ${error.stack ?? ''}` : ''
  const toJson = (error as { toJSON?: () => unknown }).toJSON?.()
  return found([json, stack, JSON.stringify(toJson)].join('\n'))
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('it should have failed'),
    (error: unknown) => error,
  )
}

function expectNoLeaks(): void {
  expect(found(JSON.stringify(events)), 'events').toEqual([])
  expect(found(logged.join('\n')), 'logs').toEqual([])
  expect(leaksBelow(folder), 'files').toEqual([])
  expect(leaksInCommandLines(), 'command lines').toEqual([])
}

describe.runIf(process.platform === 'linux')('a secret of the environment', () => {
  const manifest = { environment: { API_TOKEN: { secret: 'token' }, PLAIN: 'plain' } } as const
  const scope = { session: 'secretive' }

  it('reaches commands and nothing else', async () => {
    const session = await host.acquire({ scope, manifest })
    const shown = await session.exec('printf %s "$API_TOKEN"')
    expect(shown.stdout, 'commands have it').toBe(CANARY)
    expect(found(session.redact(`${shown.stdout} ${Buffer.from(` x${CANARY}`).toString('base64')}`))).toEqual([])
    const background = await session.spawn('sleep 100', { background: true })
    expect(leaksInCommandLines()).toEqual([])
    expect(found(JSON.stringify(await session.processes.list()))).toEqual([])
    expect(found(JSON.stringify(await session.describe()))).toEqual([])
    expectNoLeaks()
    await background.kill()
    await session.snapshot()
    const { state } = await session.release()
    expect(found(JSON.stringify(state))).toEqual([])
    expectNoLeaks()
  })

  it('is masked in errors of commands', async () => {
    const session = await host.acquire({ scope, manifest })
    const failing = [
      'echo "$API_TOKEN"; echo "$API_TOKEN" >&2; exit 3',
      'printf %s "$API_TOKEN" | base64 >&2; exit 3',
      '/no/such/program',
      'sh -c "exit 1" "$API_TOKEN"',
      'kill -9 $$',
    ]
    for (const command of failing) expect(leaksIn(await failureOf(session.execOrThrow(command))), command).toEqual([])
    expect(leaksIn(await failureOf(session.exec(['no-such-program'])))).toEqual([])
    expect(leaksIn(await failureOf(session.files.read('no-such-file')))).toEqual([])
    expectNoLeaks()
    await session.release({ afterRelease: 'destroy' })
    expectNoLeaks()
  })

  // Errors keep an end of the output, and cut before they mask: remove `.fails` with the defect.
  it('is masked in errors also where it lies across the edge of what they keep of the output', async () => {
    const session = await host.acquire({ scope, manifest })
    for (const pad of [1_968, 1_975, 1_985, 1_990]) {
      for (const to of ['', ' >&2']) {
        const command = `{ printf %s "$API_TOKEN"; head -c ${pad} /dev/zero | tr "\\0" x; }${to}; exit 3`
        const error = await failureOf(session.execOrThrow(command))
        const text = `${JSON.stringify(error)} ${(error as Error).message}`
        expect(text, `${command}: the last 10 characters`).not.toContain(CANARY.slice(-10))
      }
    }
  })

  it('is not named by what fails to resolve, nor by what fails after it was resolved', async () => {
    const unknown = { environment: { ...manifest.environment, OTHER: { secret: 'unknown' } } } as const
    const unresolved = await failureOf(host.acquire({ scope, manifest: unknown }))
    expect(leaksIn((unresolved as { toJSON(): unknown }).toJSON())).toEqual([])
    const entries = { 'a.txt': { kind: 'local_file', source: 'not-there' } } as const
    expect(leaksIn(await failureOf(host.acquire({ scope, manifest: { ...manifest, entries } })))).toEqual([])
    const hooks = { afterStart: () => Promise.reject(new Error('hook')) }
    expect(leaksIn(await failureOf(host.acquire({ scope, manifest, hooks })))).toEqual([])
    expectNoLeaks()
  })

  it('stays only where a command itself wrote it', async () => {
    const session = await host.acquire({ scope, manifest })
    await session.exec('printf %s "$API_TOKEN" > mine.txt')
    await session.release()
    const leaks = leaksBelow(folder).map((line) => line.split(':')[0] ?? '')
    const own = leaks.filter((path) => path.endsWith('/mine.txt'))
    const snapshots = leaks.filter((path) => path.includes('/data/blobs/'))
    expect(own.length).toBeGreaterThan(0)
    expect(leaks.length, leaks.join('\n')).toBe(own.length + snapshots.length)
    expect(found(JSON.stringify(events))).toEqual([])
  })
})

describe.runIf(process.platform === 'linux')('a secret for a repository', () => {
  it('is in no file, event, error or command line, whether it opens the repository or not', async () => {
    const repositories = join(folder, 'repositories')
    mkdirSync(join(repositories, 'work'), { recursive: true })
    writeFileSync(join(repositories, 'work', 'a.txt'), 'a')
    const git = (...args: string[]): void =>
      void execFileSync('git', args, { cwd: join(repositories, 'work'), stdio: 'ignore' })
    git('init', '--quiet', '--initial-branch=main')
    git('add', '.')
    git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--quiet', '-m', 'a')
    git('clone', '--quiet', '--bare', '.', join(repositories, 'bare.git'))
    await using server = await startGitServer(repositories, 'me', GIT_CANARY)
    const entry = {
      kind: 'git_repo',
      url: `${server.url}/bare.git`,
      credentials: { secret: 'git', user: 'me' },
    } as const
    const network = { kind: 'open' } as const
    const session = await host.acquire({ manifest: { entries: { repo: entry } }, network })
    expect(await session.files.readText('repo/a.txt')).toBe('a')
    expect(server.authorizations.length).toBeGreaterThan(0)
    expectNoLeaks()
    await session.release()
    expectNoLeaks()

    const wrong = { ...entry, credentials: { secret: 'token', user: 'me' } } as const
    const refused = await failureOf(host.acquire({ manifest: { entries: { repo: wrong } }, network }))
    expect(leaksIn(refused), inspect(refused)).toEqual([])
    const absent = { ...entry, url: `${server.url}/absent.git` } as const
    const missing = await failureOf(host.acquire({ manifest: { entries: { repo: absent } }, network }))
    expect(leaksIn(missing), inspect(missing)).toEqual([])
    expectNoLeaks()
  })
})
