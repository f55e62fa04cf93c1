import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSandboxError } from '../errors/sandbox-error.js'
import { compileGlob } from './glob-pattern.js'
import { compileIgnoreRules } from './ignore-rules.js'
import { compileLinearIgnoreRules } from './linear-ignore-rules.js'

const invalid = expect.toSatisfy((error) => isSandboxError(error, 'invalid_argument'))

describe('compileGlob', () => {
  it.each<[pattern: string, matching: string[], others: string[]]>([
    ['*.ts', ['a.ts', '.ts', '.hidden.ts'], ['a/b.ts', 'a.tsx', 'A.TS']],
    ['**/*.ts', ['a.ts', 'a/b/c.ts', '.x/y.ts'], ['a.js', 'a.ts/b']],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'srcs/a']],
    ['**', ['a', 'a/b/c'], []],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/x/b/c', 'b', 'ab']],
    ['a/**/b/**/c', ['a/b/c', 'a/b/x/b/c', 'a/x/b/y/z/c'], ['a/c', 'a/b', 'a/b/x']],
    ['./a//b', ['a/b'], ['a']],
    ['{src,test}/**/*.{ts,js}', ['src/a.ts', 'test/x/b.js'], ['lib/a.ts', 'src/a.css']],
    ['{a,b/{c,d}}/x', ['a/x', 'b/c/x', 'b/d/x'], ['b/x', '{a,b/c}/x']],
    ['{a}', ['{a}'], ['a']],
    ['a{b', ['a{b'], ['ab']],
    ['[a-c]?[!x]', ['b🙂y', 'a.z'], ['d.z', 'a.x', 'a.']],
    ['[]]', [']'], ['[']],
    ['[a', ['[a'], ['a']],
    ['[{,}]', ['{', ',', '}'], ['[{]']],
    ['\\*\\{a,b}', ['*{a,b}'], ['xa']],
    ['(a+)+|b', ['(a+)+|b'], ['aa', 'b']],
    ['!a', ['!a'], ['b']],
    ['?', ['\udcff', '\n', '😀'], ['ab', '']],
    ['a**b', ['ab', 'axb'], ['a/b']],
  ])('%s', (pattern, matching, others) => {
    const match = compileGlob(pattern)
    expect([...matching, ...others].filter((path) => match(path))).toEqual(matching)
  })

  it.each(['', '/etc/*', '../x', 'a/../b', '{/a,b}', '.', 'a\0', 'x'.repeat(1025), '{a,b}'.repeat(6)])(
    'refuses %j',
    (pattern) => {
      expect(() => compileGlob(pattern)).toThrow(invalid)
    },
  )

  it('agrees with a regular expression made by hand', () => {
    const tokens = { a: 'a', b: 'b', '.': '\\.', '*': '[^/]*', '?': '[^/]', '[ab]': '[ab]', '[!a]': '[^a/]' }
    const braces = { '{a,b}': '(a|b)', '{?,*b,}': '([^/]|[^/]*b|)' }
    const token = fc.constantFrom(...Object.entries({ ...tokens, ...braces }))
    const name = fc.array(token, { minLength: 1, maxLength: 4 }).filter(([first]) => !/^[.{]/.test(first![0]))
    const path = fc.array(fc.stringMatching(/^[ab][ab.]{0,3}$/), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(
        fc.array(fc.option(name, { freq: 3 }), { minLength: 1, maxLength: 3 }),
        name,
        path,
        (parts, last, text) => {
          const start = parts
            .map((part) => (part === null ? '**/' : `${part.map(([glob]) => glob).join('')}/`))
            .join('')
          const regexps = parts.map((part) =>
            part === null ? '([^/]+/)*' : `${part.map(([, regex]) => regex).join('')}/`,
          )
          const pattern = start + last.map(([glob]) => glob).join('')
          // A `**` within a name arises from two stars side by side and means one.
          fc.pre(!parts.some((part) => part?.length === 2 && part.every(([glob]) => glob === '*')))
          const regexp = new RegExp(`^${regexps.join('')}${last.map(([, regex]) => regex).join('')}$`)
          fc.pre(last.map(([glob]) => glob).join('') !== '**')
          // More braces may stand for more patterns than are taken.
          fc.pre((pattern.match(/\{/g) ?? []).length <= 3)
          expect(compileGlob(pattern)(text.join('/'))).toBe(regexp.test(text.join('/')))
        },
      ),
      { numRuns: 3000, seed: 20250101 },
    )
  })

  it('takes no time to speak of for a pattern made to take for ever', () => {
    const path = Array.from({ length: 15 }, () => 'a'.repeat(250)).join('/')
    const started = performance.now()
    expect(compileGlob(`${'*a'.repeat(60)}*b`)(path.slice(0, 250))).toBe(false)
    expect(compileGlob(`${'**/*a*a*a/'.repeat(20)}x`)(path)).toBe(false)
    expect(compileGlob(`${'{?,*}'.repeat(5)}x`)(path.slice(0, 250))).toBe(false)
    expect(performance.now() - started).toBeLessThan(2000)
  })
})

describe('compileIgnoreRules', () => {
  it.each<[patterns: string[], ignored: string[], kept: string[]]>([
    [['node_modules/'], ['node_modules/', 'a/node_modules/x'], ['node_modules']],
    [
      ['*.log', '!keep.log'],
      ['a.log', 'x/y.log'],
      ['keep.log', 'x/keep.log', 'A.LOG'],
    ],
    [['/build'], ['build', 'build/x/y'], ['src/build']],
    [['cache', '!cache/keep'], ['cache/keep', 'cache/'], ['cached']],
    [['# a', '', ' '], [], ['# a', 'x']],
    [['a/**/b'], ['a/b', 'a/x/y/b'], ['b']],
    [['\udcff*'], ['\udcffx'], ['x']],
  ])('%j', (patterns, ignored, kept) => {
    const ignores = compileIgnoreRules(patterns)
    const verdict = (path: string): boolean => ignores(path.replace(/\/$/, ''), path.endsWith('/'))
    expect([...ignored, ...kept].filter(verdict)).toEqual(ignored)
  })

  it.each(['a\nb', 'a\0', 'x'.repeat(5000)])('refuses a pattern that is not one', (pattern) => {
    expect(() => compileIgnoreRules([pattern])).toThrow(invalid)
  })

  it('takes no time to speak of for patterns made to take for ever', () => {
    const started = performance.now()
    for (const pattern of [`${'a/**/'.repeat(6)}b`, `${'**/a/'.repeat(2)}b`, `${'*a'.repeat(20)}b`]) {
      const ignores = compileIgnoreRules([pattern])
      for (const path of [`${'a/'.repeat(60)}x`, `${'a/'.repeat(500)}x`, 'a'.repeat(255)]) {
        expect(ignores(path, false)).toBe(false)
      }
    }
    expect(performance.now() - started).toBeLessThan(1500)
  })

  it('says the same of costly patterns as of others', () => {
    const name = fc.constantFrom('a', 'b', '*', '**', 'a*', '?', '[!a]', '\\a')
    const line = fc.tuple(
      fc.constantFrom('', '', '!'),
      fc.constantFrom('', '', '/'),
      fc.array(name, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '', '/', ' '),
    )
    const pattern = line.map(([not, root, names, end]) => `${not}${root}${names.join('/')}${end}`)
    const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'c'), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(
        fc
          .array(pattern, { minLength: 1, maxLength: 3 })
          .filter((lines) => !lines.some((each) => (each.match(/\*+/g) ?? []).length > 2)),
        path,
        fc.boolean(),
        (patterns, names, isDirectory) => {
          const path = names.join('/')
          expect(compileLinearIgnoreRules(patterns)(path, isDirectory)).toBe(
            compileIgnoreRules(patterns)(path, isDirectory),
          )
        },
      ),
      { numRuns: 2000, seed: 20250101 },
    )
  })

  it('forgets what it was asked, so that memory does not grow with the tree', () => {
    const ignores = compileIgnoreRules(['*.o'])
    for (let i = 0; i < 45_000; i++) expect(ignores(`d/${i}.o`, false)).toBe(true)
  })
})
