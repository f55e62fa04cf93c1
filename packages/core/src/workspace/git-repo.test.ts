import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxEventBody } from '../contracts/observer.js'
import type { GitRepoEntryInput } from '../manifest/entry.js'
import type { ManifestInput } from '../manifest/manifest.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import { startGitServer } from './git-server.fixture.js'
import { materialize } from './materialize.js'
import { openTestSandbox } from './test-sandbox.fixture.js'
import type { TestSandbox } from './test-sandbox.fixture.js'
import { readTree, writeTree } from './workspace-tree.fixture.js'

let baseDir: string
let first: string
let box: TestSandbox
let events: SandboxEventBody[]

beforeAll(() => {
  baseDir = mkdtempSync(join(tmpdir(), 'cofferdam-git-'))
  mkdirSync(join(baseDir, 'repo'))
  git('init', '--quiet', '--initial-branch=main')
  writeTree(join(baseDir, 'repo'), { 'README.md': '644 one', 'lib/run.sh': '755 #!/bin/sh', 'lib/deep/x': '644 x' })
  commit('one')
  first = git('rev-parse', 'HEAD').trim()
  git('tag', 'v1')
  git('checkout', '--quiet', '-b', 'feature/two')
  writeFileSync(join(baseDir, 'repo/README.md'), 'two')
  commit('two')
  git('checkout', '--quiet', 'main')
  writeFileSync(join(baseDir, 'repo/README.md'), 'three')
  writeTree(join(baseDir, 'repo'), { etc: '-> /etc' })
  commit('three')
  writeTree(join(baseDir, 'repo/.git/hooks'), { 'post-checkout': '755 #!/bin/sh\nexit 1' })
  git('config', 'core.fsmonitor', 'false')
  git('clone', '--quiet', '--bare', join(baseDir, 'repo'), join(baseDir, 'bare.git'))
  git('-C', join(baseDir, 'bare.git'), 'config', 'uploadpack.allowAnySHA1InWant', 'false')
})

afterAll(() => rmSync(baseDir, { recursive: true }))

beforeEach(async () => {
  box = await openTestSandbox()
  events = []
})

afterEach(() => box[Symbol.asyncDispose]())

function git(...args: readonly string[]): string {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.org',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.org',
  }
  return execFileSync('git', args, {
    cwd: join(baseDir, 'repo'),
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function commit(message: string): void {
  git('add', '--all')
  git('-c', 'core.fsmonitor=false', 'commit', '--quiet', '--message', message)
}

async function clone(
  entry: Partial<GitRepoEntryInput>,
  at = 'repo',
  more: ManifestInput['entries'] = {},
): Promise<void> {
  const source = entry.url === undefined ? { path: 'repo' } : {}
  await materialize({
    sandbox: box.sandbox,
    manifest: parseManifest({ entries: { [at]: { kind: 'git_repo', ...source, ...entry }, ...more } }),
    select: 'all',
    hostAccess: { baseDir, grants: [] },
    secrets: (ref) => Promise.resolve(ref === 'right' ? 'sesame-open' : 'sesame-wrong'),
    emit: (event) => events.push(event),
  })
}

const readme = (at = 'repo'): string => readFileSync(join(box.workspace, at, 'README.md'), 'utf8')
const inClone = (...args: readonly string[]): string => git('-C', join(box.workspace, 'repo'), ...args).trim()

describe('git_repo', () => {
  it('clones a repository of the host, and nothing of its work tree, hooks and configuration', async () => {
    writeFileSync(join(baseDir, 'repo/uncommitted'), 'x')
    await clone({})
    rmSync(join(baseDir, 'repo/uncommitted'))
    expect(readme()).toBe('three')
    expect(inClone('rev-list', '--count', 'HEAD')).toBe('1')
    expect(inClone('branch', '--show-current')).toBe('main')
    const tree = readTree(join(box.workspace, 'repo'))
    expect(tree['.git/config']).not.toContain('fsmonitor')
    expect(tree['.git/hooks/post-checkout']).toBeUndefined()
    const files = Object.entries(tree).filter(([path]) => !/^\.git(\/|$)/.test(path))
    expect(Object.fromEntries(files)).toEqual({
      'README.md': '644 three',
      etc: '-> /etc',
      lib: '755/',
      'lib/deep': '755/',
      'lib/deep/x': '644 x',
      'lib/run.sh': '755 #!/bin/sh',
    })
    expect(readdirSync(box.workspace)).toEqual(['repo'])
    expect(readTree(box.control)['materialize']).toBeUndefined()
    expect(events).toEqual([{ type: 'entry.applied', path: 'repo', kind: 'git_repo', done: 1, of: 1 }])
  })

  it.each<[string, () => string, string]>([
    ['a branch', () => 'feature/two', 'two'],
    ['a tag', () => 'v1', 'one'],
    ['a commit that no branch ends in', () => first, 'one'],
    ['the beginning of a commit', () => first.slice(0, 10), 'one'],
  ])('checks out %s', async (_what, ref, content) => {
    await clone({ ref: ref() })
    expect(readme()).toBe(content)
  })

  it('brings as much history as asked for, or one directory and no history', async () => {
    await clone({ depth: 0 }, 'repo', { part: { kind: 'git_repo', path: 'bare.git', subpath: 'lib', mode: '0700' } })
    expect(inClone('rev-list', '--count', 'HEAD')).toBe('2')
    expect(readTree(join(box.workspace, 'part'))).toEqual({
      deep: '755/',
      'deep/x': '644 x',
      'run.sh': '755 #!/bin/sh',
    })
    expect(statSync(join(box.workspace, 'part')).mode & 0o777).toBe(0o700)
  })

  it('fills the root beside what is there, with entries over it', async () => {
    await clone({}, '.', { 'README.md': { kind: 'file', text: 'mine' }, 'lib/new': { kind: 'file', text: 'n' } })
    expect(readme('.')).toBe('mine')
    expect(readdirSync(box.workspace).sort()).toEqual(['.git', 'README.md', 'etc', 'lib'])
    expect(readdirSync(join(box.workspace, 'lib')).sort()).toEqual(['deep', 'new', 'run.sh'])
  })

  it.each<[string, Partial<GitRepoEntryInput>, string]>([
    ['a ref that is not there', { ref: 'nope' }, 'not_found'],
    ['a commit that is not there', { ref: '0123456789012345678901234567890123456789' }, 'not_found'],
    ['a directory that is not there', { subpath: 'nope' }, 'not_found'],
    ['a directory behind a link', { subpath: 'etc' }, 'not_found'],
    ['git’s own directory', { subpath: '.git' }, 'not_found'],
    ['a host path that is no repository', { path: 'repo/lib' }, 'not_found'],
    ['a host path that nobody granted', { path: '/' }, 'path_escape'],
    ['a server that is not there', { url: 'http://127.0.0.1:1/x.git' }, 'exec_failed'],
  ])('says so, and leaves nothing: %s', async (_what, entry, code) => {
    const before = { before: { kind: 'file', text: 'before' } } as const
    await expect(clone(entry, 'repo', before)).rejects.toMatchObject({ code })
    expect(readdirSync(box.workspace)).toEqual([])
    expect(readTree(box.control)['materialize']).toBeUndefined()
  })

  it('hands a password to the server alone, and leaves it nowhere', async () => {
    const server = await startGitServer(baseDir, 'ada', 'sesame-open')
    try {
      const url = `${server.url}/bare.git`
      await clone({ url, ref: 'v1', credentials: { secret: 'right', user: 'ada' } })
      expect(readme()).toBe('one')
      expect(server.authorizations).toContain(`Basic ${Buffer.from('ada:sesame-open').toString('base64')}`)
      expect(inClone('remote', 'get-url', 'origin')).toBe(url)
      expect(JSON.stringify([readTree(box.workspace), readTree(box.control)])).not.toMatch(/sesame/)
      const wrong = clone({ url, credentials: { secret: 'wrong', user: 'ada' } }, 'again')
      await expect(wrong).rejects.toSatisfy((error) => {
        return (error as { code?: string }).code === 'exec_failed' && !JSON.stringify(error).includes('sesame')
      })
      const none = clone({ url }, 'again')
      await expect(none).rejects.toMatchObject({ code: 'exec_failed' })
      expect(readdirSync(box.workspace)).toEqual(['repo'])
    } finally {
      await server[Symbol.asyncDispose]()
    }
  })
})
