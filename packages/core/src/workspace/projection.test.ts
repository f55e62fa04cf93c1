import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxEventBody } from '../contracts/observer.js'
import type { ManifestInput } from '../manifest/manifest.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import { emptyWorkspace } from './empty-workspace.js'
import { applyProjections } from './projection.js'
import { contentDigest } from './read-projection.js'
import { openTestSandbox } from './test-sandbox.fixture.js'
import type { TestSandbox } from './test-sandbox.fixture.js'
import { readTree, writeTree } from './workspace-tree.fixture.js'

let box: TestSandbox
let baseDir: string
let events: SandboxEventBody[]

beforeEach(async () => {
  box = await openTestSandbox()
  baseDir = mkdtempSync(join(tmpdir(), 'cofferdam-base-'))
  events = []
})

afterEach(async () => {
  await box[Symbol.asyncDispose]()
  rmSync(baseDir, { recursive: true })
})

async function project(entries: ManifestInput['entries'] = { '.': { kind: 'projection' } }): Promise<unknown> {
  events = []
  await applyProjections({
    sandbox: box.sandbox,
    manifest: parseManifest({ entries }),
    hostAccess: { baseDir, grants: [] },
    emit: (event) => events.push(event),
  })
  return events.find(({ type }) => type === 'projection.applied')
}

const tree = (): Record<string, string> => readTree(box.workspace)

describe('applyProjections', () => {
  it('brings the default roots that are there, and writes nothing twice', async () => {
    writeTree(baseDir, {
      'AGENTS.md': '644 rules',
      'skills/a/SKILL.md': '644 a',
      'skills/a/run.sh': '755 run',
      'skills/link': '-> a',
      'other.md': '644 not projected',
    })
    expect(await project()).toMatchObject({ written: 4, removed: 0, unchanged: 0 })
    expect(tree()).toEqual({
      'AGENTS.md': '644 rules',
      skills: '755/',
      'skills/a': '755/',
      'skills/a/SKILL.md': '644 a',
      'skills/a/run.sh': '755 run',
      'skills/link': '-> a',
    })
    expect(await project()).toMatchObject({ written: 0, removed: 0, unchanged: 4 })
  })

  it('restores what was changed here, and takes away what is gone there, and nothing else', async () => {
    writeTree(baseDir, {
      'AGENTS.md': '644 rules',
      'skills/a/x': '644 xx',
      'skills/b/y': '644 y',
      'skills/c/z': '644 z',
    })
    await project()
    const same = { 'skills/a/x': '644 XX' }
    rmSync(join(box.workspace, 'skills/a/x'))
    writeTree(box.workspace, { ...same, 'skills/b/mine': '644 mine', 'own.md': '644 own' })
    rmSync(join(box.workspace, 'AGENTS.md'))
    writeTree(box.workspace, { 'AGENTS.md/in/the/way': '644 x' })
    rmSync(join(baseDir, 'skills/b'), { recursive: true })
    rmSync(join(baseDir, 'skills/c'), { recursive: true })
    expect(await project()).toMatchObject({ written: 2, removed: 2, unchanged: 0 })
    expect(tree()).toEqual({
      'AGENTS.md': '644 rules',
      'own.md': '644 own',
      skills: '755/',
      'skills/a': '755/',
      'skills/a/x': '644 xx',
      'skills/b': '755/',
      'skills/b/mine': '644 mine',
    })
    expect(await project({})).toMatchObject({ written: 0, removed: 2 })
    expect(Object.keys(tree())).toEqual(['own.md', 'skills', 'skills/b', 'skills/b/mine'])
  })

  it('follows no link that was put in its way', async () => {
    writeTree(baseDir, { 'skills/a': '644 a', 'AGENTS.md': '644 rules' })
    await project()
    rmSync(join(box.workspace, 'skills'), { recursive: true })
    rmSync(join(box.workspace, 'AGENTS.md'))
    writeTree(box.workspace, {
      'elsewhere/a': '600 keep',
      'target.md': '600 keep',
      skills: '-> elsewhere',
      'AGENTS.md': '-> target.md',
    })
    await project()
    expect(tree()).toEqual({
      'AGENTS.md': '644 rules',
      elsewhere: '755/',
      'elsewhere/a': '600 keep',
      skills: '755/',
      'skills/a': '644 a',
      'target.md': '600 keep',
    })
  })

  it.each<[string, string]>([
    ['paths that lead out', '{"version":1,"files":["../victim","own/../../victim","/etc/hosts"],"directories":[]}'],
    ['no JSON', '{"version":1,'],
    ['another shape', '[1,2,3]'],
    ['through a link', '{"version":1,"files":["link/victim"],"directories":["own"]}'],
  ])('believes no index that was tampered with: %s', async (_name, index) => {
    writeTree(baseDir, { 'AGENTS.md': '644 rules' })
    writeTree(box.workspace, { 'own/file': '644 own', link: '-> ../victims' })
    writeTree(join(box.workspace, '..'), { victim: '644 v', 'victims/victim': '644 v' })
    writeFileSync(join(box.control, 'projections.json'), index)
    expect(await project()).toMatchObject({ written: 1, removed: 0 })
    expect(readTree(join(box.workspace, '..'))).toMatchObject({ victim: '644 v', 'victims/victim': '644 v' })
    expect(tree()).toMatchObject({ 'own/file': '644 own' })
  })

  it('ends with the same, whatever was there and whatever was projected before', async () => {
    const file = fc.constantFrom('644 one', '755 one', '644 two', '-> nowhere')
    const name = fc.constantFrom('skills/a', 'skills/b/c', 'skills/b/d', 'knowledge/k')
    const files = fc.dictionary(name, file)
    const hold = fc.asyncProperty(files, files, files, async (first, changed, second) => {
      for (const root of ['skills', 'knowledge']) rmSync(join(baseDir, root), { recursive: true, force: true })
      await emptyWorkspace(box.sandbox, { keep: [] })
      writeTree(baseDir, first)
      await project()
      await emptyWorkspace(box.sandbox, { keep: [] })
      writeTree(box.workspace, changed)
      for (const root of ['skills', 'knowledge']) rmSync(join(baseDir, root), { recursive: true, force: true })
      writeTree(baseDir, second)
      await project()
      const here = tree()
      for (const [path, line] of Object.entries(readTree(baseDir))) expect(here[path]).toBe(line)
      for (const path of Object.keys(first)) if (!(path in second)) expect(here[path]).toBeUndefined()
      expect(await project()).toMatchObject({ written: 0, removed: 0 })
    })
    writeTree(baseDir, { 'AGENTS.md': '644 rules' })
    await fc.assert(hold, { numRuns: 60 })
  })

  it('refuses links that lead out of what is projected, and sources that nobody granted', async () => {
    writeTree(baseDir, { 'skills/out': '-> ../../x' })
    await expect(project()).rejects.toMatchObject({ code: 'path_escape' })
    await expect(project({ p: { kind: 'projection', source: '/etc', roots: ['passwd'] } })).rejects.toMatchObject({
      code: 'path_escape',
    })
    expect(tree()).toEqual({})
  })

  it('keeps the modes of the directories on the way', async () => {
    writeTree(baseDir, { 'deep/x': '644 x' })
    await project({ 'a/b': { kind: 'projection', roots: ['deep'] } })
    chmodSync(join(box.workspace, 'a'), 0o700)
    expect(await project({ 'a/b': { kind: 'projection', roots: ['deep'] } })).toMatchObject({ written: 0 })
    expect(tree()).toEqual({ a: '700/', 'a/b': '755/', 'a/b/deep': '755/', 'a/b/deep/x': '644 x' })
  })
})

describe('contentDigest', () => {
  it('differs whenever type, mode or contents do', () => {
    const item = fc.oneof(
      fc.record({ type: fc.constant('file' as const), mode: fc.nat({ max: 0o777 }), text: fc.string() }),
      fc.record({ type: fc.constant('symlink' as const), mode: fc.constant(0), text: fc.string() }),
      fc.record({ type: fc.constant('directory' as const), mode: fc.nat({ max: 0o777 }), text: fc.constant('') }),
    )
    const digest = ({
      type,
      mode,
      text,
    }: {
      type: 'file' | 'symlink' | 'directory'
      mode: number
      text: string
    }): string => {
      if (type === 'symlink') return contentDigest({ type, path: 'x', linkTarget: text })
      if (type === 'directory') return contentDigest({ type, path: 'x', mode })
      const content = Buffer.from(text)
      return contentDigest({ type, path: 'x', mode, content, sizeBytes: content.length })
    }
    const hold = fc.property(item, item, (a, b) => {
      const same = a.type === b.type && a.mode === b.mode && Buffer.from(a.text).equals(Buffer.from(b.text))
      expect(digest(a) === digest(b)).toBe(same)
    })
    fc.assert(hold)
  })
})
