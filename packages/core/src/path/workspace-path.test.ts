import fc from 'fast-check'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findMount, isInside, parseWorkspacePath, workspaceRelative } from './workspace-path.js'
import type { PathScope } from './workspace-path.js'
import { isSandboxError } from '../errors/sandbox-error.js'

const scope: PathScope = {
  workspaceRoot: '/workspace',
  mounts: [
    { path: '/mnt/data', readOnly: false },
    { path: '/workspace/vendor', readOnly: true },
    { path: '/workspace/vendor/own/', readOnly: false },
  ],
}

describe('parseWorkspacePath', () => {
  it('agrees with a lexical resolver on what is inside, and never takes more', () => {
    const component = fc.constantFrom('..', '..', '.', '', 'a', 'workspace', 'mnt', 'data', 'vendor', '...')
    const text = fc.tuple(fc.constantFrom('/', '', '/workspace/'), fc.array(component, { maxLength: 8 }))
    fc.assert(
      fc.property(text, ([start, components]) => {
        const written = start + components.join('/')
        const collapsed = posix.resolve('/workspace', written)
        const inside = ['/workspace', '/mnt/data'].some(
          (root) => collapsed === root || collapsed.startsWith(`${root}/`),
        )
        const parsed = attempt(() => parseWorkspacePath(written, scope))
        if (typeof parsed === 'string') {
          expect(inside).toBe(true)
          expect(posix.resolve(parsed)).toBe(collapsed)
        } else if (inside && written !== '') {
          expect(written).toMatch(/\.\./)
        }
      }),
      { numRuns: 3000 },
    )
  })

  it('begins relative paths at the working directory', () => {
    expect(parseWorkspacePath('x', { ...scope, cwd: '/mnt/data/sub' })).toBe('/mnt/data/sub/x')
    expect(parseWorkspacePath('../x', { ...scope, cwd: '/workspace/sub' })).toBe('/workspace/sub/../x')
    expect(code(() => parseWorkspacePath('../../x', { ...scope, cwd: '/workspace/sub' }))).toBe('path_escape')
    expect(code(() => parseWorkspacePath('x', { ...scope, cwd: '/etc' }))).toBe('path_escape')
  })

  it.each(['/', '//', 'workspace', '/a/..', ''])('refuses the root %j', (workspaceRoot) => {
    expect(code(() => parseWorkspacePath('x', { workspaceRoot, mounts: [] }))).toBe('invalid_argument')
    const mounts = [{ path: workspaceRoot, readOnly: false }]
    expect(code(() => parseWorkspacePath('x', { workspaceRoot: '/workspace', mounts }))).toBe('invalid_argument')
  })

  it('says what to do, on one line, however the path looks', () => {
    expect(() => parseWorkspacePath('/etc/\n\u001b[31m', scope)).toThrow(
      /^The path "\/etc\/\\n\\u001b\[31m" leads out .*use/,
    )
  })
})

describe('isInside', () => {
  it.each([
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/a/b', '/a/', true],
    ['/ab', '/a', false],
    ['/a/../b', '/a', false],
    ['/a/b/..', '/a', true],
    ['/b/../a/c', '/a', true],
    ['/a', '/a/b', false],
    ['a', '/a', false],
    ['/anything', '/', true],
  ])('%s in %s: %s', (path, root, inside) => {
    expect(isInside(path, root)).toBe(inside)
  })
})

describe('findMount and workspaceRelative', () => {
  const parse = (text: string): ReturnType<typeof parseWorkspacePath> => parseWorkspacePath(text, scope)

  it.each([
    ['a', undefined, 'a'],
    ['.', undefined, '.'],
    ['a/../b', undefined, 'a/../b'],
    ['vendor', '/workspace/vendor', 'vendor'],
    ['vendor/x', '/workspace/vendor', 'vendor/x'],
    ['vendor/own/x', '/workspace/vendor/own/', 'vendor/own/x'],
    ['vendor/../x', undefined, 'vendor/../x'],
    ['vendored', undefined, 'vendored'],
  ])('%s', (text, mount, relative) => {
    expect(findMount(parse(text), scope)?.path).toBe(mount)
    expect(workspaceRelative(parse(text), scope)).toBe(relative)
  })

  it('know a mount outside the workspace', () => {
    expect(findMount(parse('/mnt/data/x'), scope)?.path).toBe('/mnt/data')
    expect(code(() => workspaceRelative(parse('/mnt/data/x'), scope))).toBe('path_escape')
  })

  it('do not take a mount around the workspace for one over it', () => {
    const around = { workspaceRoot: '/srv/work', mounts: [{ path: '/srv', readOnly: true }] }
    expect(findMount(parseWorkspacePath('/srv/work/a', around), around)).toBeUndefined()
    expect(findMount(parseWorkspacePath('/srv/other', around), around)?.path).toBe('/srv')
  })
})

function attempt(parse: () => string): string | undefined {
  try {
    return parse()
  } catch (error) {
    if (isSandboxError(error)) return undefined
    throw error
  }
}

function code(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (isSandboxError(error)) return error.code
    throw error
  }
  return 'ok'
}
