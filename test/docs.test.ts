import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const documents = [...markdownIn(''), ...markdownIn('docs')]

describe.each(documents)('%s', (path) => {
  const text = readFileSync(join(root, path), 'utf8')

  it('links only to what is there', () => {
    const dead = relativeLinks(path, text).filter(({ file, anchor }) => {
      if (!existsSync(join(root, file))) return true
      return anchor !== undefined && !anchorsOf(readFileSync(join(root, file), 'utf8')).has(anchor)
    })
    expect(dead).toEqual([])
  })

  it('names only files that are there', () => {
    const named = [...text.matchAll(/`((?:packages|docs|examples|scripts|test|bench|\.ci)\/[^`<*…\s]+)`/g)]
    expect(named.flatMap(([, name = '']) => (existsSync(join(root, name)) ? [] : [name]))).toEqual([])
  })

  it('names only commands that are there', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
    const named = [...text.matchAll(/npm run ([a-z-]+)/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })

  it('shows code as it stands in the file that it is from', () => {
    const shown = [...text.matchAll(/<!-- from ([^ ]+) -->\n+```\w+\n([^]*?)```/g)]
    expect(shown).toHaveLength(text.split('<!-- from ').length - 1)
    for (const [, file = '', code = ''] of shown) {
      expect(readFileSync(join(root, file), 'utf8'), `the code from ${file}`).toContain(code)
    }
  })
})

it('leads from the index to every document', () => {
  const reached = new Set(['docs/index.md'])
  for (const path of reached) {
    for (const { file } of relativeLinks(path, readFileSync(join(root, path), 'utf8'))) {
      if (file.endsWith('.md') && existsSync(join(root, file))) reached.add(file)
    }
  }
  expect(documents.filter((path) => path !== 'SECURITY.md' && !reached.has(path))).toEqual([])
})

it('keeps the main file of every example within 60 lines', () => {
  const mains = readdirSync(join(root, 'examples')).map((name) => join('examples', name, 'main.ts'))
  const numbered = mains.filter((path) => /^examples\/\d/.test(path) && existsSync(join(root, path)))
  expect(numbered.length).toBeGreaterThan(3)
  expect(numbered.filter((path) => readFileSync(join(root, path), 'utf8').split('\n').length > 61)).toEqual([])
})

describe('decisions', () => {
  const files = readdirSync(join(root, 'docs/adr')).sort()

  it('are numbered from 1 on', () => {
    expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1))
  })

  it.each(files)('%s says in 40 lines what, why and until when', (name) => {
    const text = readFileSync(join(root, 'docs/adr', name), 'utf8')
    const parts = [...text.matchAll(/^\*\*([A-Z][a-z ]+?)\.?\*\*/gm)].map(([, part]) => part)
    expect(parts).toEqual(['Context', 'Decision', 'Because', 'Instead of', 'Costs', 'Revisit when'])
    expect(text).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `))
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
  })
})

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: folder !== '', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .sort()
}

interface RelativeLink {
  /** From the root of the repository. */
  readonly file: string
  readonly anchor: string | undefined
}

function relativeLinks(path: string, text: string): RelativeLink[] {
  const prose = text.replace(/^```[^]*?^```/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file = '', anchor] = target.split('#')
    return [{ file: file === '' ? path : relative(root, join(root, dirname(path), file)), anchor }]
  })
}

/** As they are made for headings: lower case, spaces as hyphens, most punctuation gone. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase())
  return new Set(headings.map((heading) => heading.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')))
}
