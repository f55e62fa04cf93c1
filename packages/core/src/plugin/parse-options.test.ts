import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isSandboxError } from '../errors/sandbox-error.js'
import { parseOptions } from './parse-options.js'

const schema = z.strictObject({
  image: z.string().default('debian'),
  limits: z.strictObject({ memoryBytes: z.number().int().positive().optional() }).optional(),
  registries: z.array(z.strictObject({ url: z.url(), password: z.string().optional() })).default([]),
  named: z.record(z.string(), z.strictObject({ cpus: z.number() })).optional(),
  mode: z.enum(['fast', 'safe']).optional(),
})

function problemsOf(input: unknown): readonly string[] {
  try {
    parseOptions(schema, input, { plugin: '@acme/box' })
    return []
  } catch (error) {
    if (isSandboxError(error, 'invalid_config')) {
      expect(error.message).toBe(error.details.problems.join('\n'))
      return error.details.problems
    }
    throw error
  }
}

describe('parseOptions', () => {
  it('gives the options with their defaults', () => {
    expect(parseOptions(schema, {}, { plugin: '@acme/box' })).toEqual({ image: 'debian', registries: [] })
  })

  it('says everything that is wrong, with its place, and what was probably meant', () => {
    const input = {
      imgae: 'x',
      limits: { memory_bytes: 1, memoryBytes: -5 },
      registries: [{ url: 'https://there.example' }, { url: 'https://there.example', pasword: 'hunter2' }],
      named: { small: { cpu: 1, cpus: 'two' } },
      mode: 'slow',
      entirelyElse: true,
    }
    expect([...problemsOf(input)].sort()).toEqual([
      '@acme/box: entirelyElse: there is no such option; there are image, limits, registries, named, mode',
      '@acme/box: imgae: there is no such option; did you mean image?',
      '@acme/box: limits.memoryBytes: Too small: expected number to be >0',
      '@acme/box: limits.memory_bytes: there is no such option; did you mean memoryBytes?',
      '@acme/box: mode: expected one of "fast"|"safe"',
      '@acme/box: named.small.cpu: there is no such option; did you mean cpus?',
      '@acme/box: named.small.cpus: expected number, received string',
      '@acme/box: registries.1.pasword: there is no such option; did you mean password?',
    ])
  })

  it('never repeats a value', () => {
    const problems = problemsOf({ image: 42, registries: [{ url: 'hunter2', password: ['hunter2'] }], mode: 'hunter2' })
    expect(problems).toHaveLength(4)
    expect(problems.join('\n')).not.toContain('hunter2')
  })

  it.each([[undefined], [null], [[]], ['text']])('refuses %j as a whole', (input) => {
    expect(problemsOf(input)).toEqual([expect.stringMatching(/^@acme\/box: options: expected object, received /)])
  })
})
