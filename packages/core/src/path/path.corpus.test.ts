import { DISK_PATH_CASES, LEXICAL_PATH_CASES, LEXICAL_SCOPE } from '@cofferdam/testkit/corpora'
import type { PathVerdict } from '@cofferdam/testkit/corpora'
import { describe, expect, it } from 'vitest'
import { parseRelativePath } from './relative-path.js'
import { isInside, parseWorkspacePath } from './workspace-path.js'
import { isSandboxError } from '../errors/sandbox-error.js'

describe('the path corpus', () => {
  it('is large, and every case has its own id', () => {
    const ids = [...LEXICAL_PATH_CASES, ...DISK_PATH_CASES].map(({ id }) => id)
    expect(ids.length).toBeGreaterThanOrEqual(200)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it.each(LEXICAL_PATH_CASES)('$id: $why', ({ path, relative, workspace }) => {
    expect(verdict(() => parseRelativePath(path))).toEqual(relative)
    expect(verdict(() => parseWorkspacePath(path, LEXICAL_SCOPE))).toEqual(workspace)
  })

  it('has only verdicts that keep inside', () => {
    const roots = [LEXICAL_SCOPE.workspaceRoot, ...LEXICAL_SCOPE.mounts.map(({ path }) => path)]
    for (const { id, workspace } of LEXICAL_PATH_CASES) {
      if ('ok' in workspace)
        expect(
          roots.some((root) => isInside(workspace.ok, root)),
          id,
        ).toBe(true)
    }
  })

  // Whoever parses first must not refuse what the disk is to decide.
  it.each(DISK_PATH_CASES)('lets $id through to the disk', ({ path, to, operation }) => {
    const scope = { workspaceRoot: '/workspace', mounts: [] }
    const text = (written: string): string => written.replaceAll('{workspace}', '/workspace')
    const allowed = verdict(() => parseWorkspacePath(text(path), scope))
    expect(allowed).toHaveProperty('ok')
    if (to !== undefined && operation !== 'symlink') {
      expect(verdict(() => parseWorkspacePath(text(to), scope))).toHaveProperty('ok')
    }
  })
})

function verdict(parse: () => string): PathVerdict {
  try {
    return { ok: parse() }
  } catch (error) {
    if (!isSandboxError(error)) throw error
    return { code: error.code }
  }
}
