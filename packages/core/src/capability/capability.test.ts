import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Capability, CapabilityContext } from '../contracts/capability.js'
import type { Tool } from '../contracts/tool.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import type { SandboxErrorCode } from '../errors/error-details.js'
import { emptyManifest } from '../manifest/parse-manifest.js'
import { bindCapabilities } from './bind-capabilities.js'
import { defineCapability } from './define-capability.js'
import type { CapabilityBinding } from './define-capability.js'
import { defineTool } from './define-tool.js'
import type { ApprovalRule } from './define-tool.js'
import { mergeSampling } from './merge-sampling.js'

// Nothing in here reaches the session: what is bound are definitions.
const context = { runAs: null } as unknown as CapabilityContext

const parameters = z.strictObject({
  path: z.string().min(1),
  limit: z.int().min(1).max(9).default(3),
  note: z.string().optional(),
})

function echo(approval: ApprovalRule<z.infer<typeof parameters>> = 'never', name = 'echo'): Tool {
  return defineTool({
    name,
    description: 'Says what it was given.',
    parameters,
    effects: 'read',
    approval,
    execute: (input) =>
      Promise.resolve({
        ok: true,
        content: [{ type: 'text', text: JSON.stringify(input) }],
        data: { limit: input.limit },
      }),
  })
}

async function codeOf(promise: Promise<unknown>): Promise<SandboxErrorCode | undefined> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return isSandboxError(error) ? error.code : undefined
}

describe('defineTool', () => {
  it('writes the JSON Schema of what a model may leave out', () => {
    expect(echo().jsonSchema).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
      required: ['path'],
      properties: {
        path: { type: 'string', minLength: 1 },
        limit: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
        note: { type: 'string' },
      },
    })
  })

  it('parses input itself and says every problem on a line of its own, without the values', async () => {
    expect((await echo().execute({ path: 'a' })).data).toEqual({ limit: 3 })
    const failure: unknown = await echo()
      .execute({ limit: 'private-value', pth: 1, 'x\ny': 2 })
      .catch((error: unknown) => error)
    if (!isSandboxError(failure, 'tool_input_invalid')) expect.unreachable()
    expect(failure.details.tool).toBe('echo')
    expect(failure.details.problems).toEqual([
      'path: is missing; expected string',
      expect.stringMatching(/^limit: .*expected number/),
      "pth: is not known here; did you mean 'path'?",
      expect.stringMatching(/^x y: is not known here/),
    ])
    expect(JSON.stringify(failure)).not.toContain('private-value')
  })

  it.each([undefined, null, 'text', 7, [], () => 1])('refuses %s as a whole', async (input) => {
    expect(await codeOf(echo().execute(input))).toBe('tool_input_invalid')
    expect(() => echo().approvalFor(input)).toThrow(/does not fit/)
  })

  it('holds the approval before anything runs', async () => {
    const rule = echo(({ path }) => (path === 'ok' ? 'never' : path === 'no' ? 'deny' : 'ask'))
    expect(rule.approvalFor({ path: 'maybe' })).toBe('ask')
    expect(await codeOf(rule.execute({ path: 'maybe' }))).toBe('approval_required')
    expect(await codeOf(rule.execute({ path: 'maybe' }, { approved: false }))).toBe('approval_required')
    expect((await rule.execute({ path: 'maybe' }, { approved: true })).ok).toBe(true)
    expect(await codeOf(rule.execute({ path: 'no' }, { approved: true }))).toBe('approval_denied')
    expect((await rule.execute({ path: 'ok' })).ok).toBe(true)
    expect(await codeOf(echo().execute({ path: 'a' }, { signal: AbortSignal.abort() }))).toBe('aborted')
  })

  it('tells the author of a tool that cannot be described', () => {
    const make = (name: string, schema: z.ZodType): unknown =>
      defineTool({
        ...echo(),
        name,
        parameters: schema,
        approval: 'never',
        execute: () => Promise.reject(new TypeError()),
      })
    expect(() => make('Echo', parameters)).toThrow(TypeError)
    expect(() => make('echo', z.string())).toThrow(TypeError)
    expect(() => make('echo', z.strictObject({ at: z.date() }))).toThrow(TypeError)
  })
})

describe('bindCapabilities', () => {
  const journal: string[] = []
  function capability(type: string, binding: CapabilityBinding = {}, requires: readonly string[] = []): Capability {
    return defineCapability({
      type,
      requires,
      bind: () => {
        journal.push(`bind ${type}`)
        return { dispose: () => void journal.push(`dispose ${type}`), ...binding }
      },
    })
  }

  it('fills every default and disposes once', async () => {
    journal.length = 0
    const plain = capability('plain')
    expect(plain.manifest(emptyManifest)).toBe(emptyManifest)
    const bound = await plain.bind(context)
    expect([bound.tools, bound.instructions, bound.sampling, await bound.input([1])]).toEqual([[], null, {}, [1]])
    await Promise.all([bound[Symbol.asyncDispose](), bound[Symbol.asyncDispose]()])
    expect(journal).toEqual(['bind plain', 'dispose plain'])
  })

  it('joins what capabilities give in declared order and disposes in reverse', async () => {
    journal.length = 0
    const bound = await bindCapabilities(
      [
        capability('a', {
          tools: [echo('never', 'one')],
          instructions: 'First.\n',
          sampling: { top: { p: 1, k: 2 }, stop: ['x'] },
          input: (items) => [...items, 'a'],
        }),
        capability('b', { instructions: '  ' }, ['c']),
        capability('c', {
          tools: [echo('never', 'two')],
          instructions: 'Last.',
          sampling: { top: { k: 3 }, stop: [] },
          input: (items) => Promise.resolve([...items, 'c']),
        }),
      ],
      context,
    )
    expect(bound.tools.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(bound.instructions).toBe('First.\n\nLast.')
    expect(bound.sampling).toEqual({ top: { p: 1, k: 3 }, stop: [] })
    expect(await bound.input(['0'])).toEqual(['0', 'a', 'c'])
    await bound[Symbol.asyncDispose]()
    expect(journal.slice(3)).toEqual(['dispose c', 'dispose b', 'dispose a'])
  })

  it('refuses what does not fit together before it binds anything', async () => {
    journal.length = 0
    expect(await codeOf(bindCapabilities([capability('a'), capability('a')], context))).toBe('capability_conflict')
    expect(await codeOf(bindCapabilities([capability('a', {}, ['b', 'a'])], context))).toBe('capability_missing')
    expect(journal).toEqual([])
  })

  it('disposes what it had bound when a later one fails, and reports every failure', async () => {
    journal.length = 0
    const clash = [capability('a', { tools: [echo()] }), capability('b', { tools: [echo()] })]
    expect(await codeOf(bindCapabilities(clash, context))).toBe('capability_conflict')
    expect(journal).toEqual(['bind a', 'bind b', 'dispose b', 'dispose a'])

    const broken = new TypeError('cannot bind')
    const stuck = new TypeError('cannot end')
    const failing = defineCapability({ type: 'failing', bind: () => Promise.reject(broken) })
    const sticky = capability('sticky', { dispose: () => Promise.reject(stuck) })
    await expect(bindCapabilities([sticky, capability('a'), failing], context)).rejects.toMatchObject({
      errors: [broken, stuck],
    })
    const whole = await bindCapabilities([capability('a'), sticky], context)
    journal.length = 0
    await expect(whole[Symbol.asyncDispose]()).rejects.toMatchObject({ errors: [stuck] })
    expect(journal).toEqual(['dispose a'])
  })

  it('gives each binding to its run alone', async () => {
    let bindings = 0
    const counting = defineCapability({ type: 'counting', bind: () => ({ instructions: `run ${++bindings}` }) })
    const [one, two] = await Promise.all([counting.bind(context), counting.bind(context)])
    expect(one).not.toBe(two)
    expect([one.instructions, two.instructions]).toEqual(['run 1', 'run 2'])
  })
})

describe('mergeSampling', () => {
  it('keeps a key named __proto__ a key', () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":{"x":1}}}') as { [key: string]: never }
    const merged = mergeSampling({ a: { b: 1 } }, hostile)
    expect(Object.keys(merged)).toEqual(['a', '__proto__'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect((merged as { polluted?: boolean }).polluted).toBeUndefined()
  })
})
