import { describe, expect, it } from 'vitest'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import { createRedactor } from '../redact/redactor.js'
import { resolveEnvironment } from './environment.js'

describe('resolveEnvironment', () => {
  it('resolves each secret once and makes it known to the redactor', async () => {
    const manifest = parseManifest({ environment: { A: 'plain', B: { secret: 'one' }, C: { secret: 'one' } } })
    const redactor = createRedactor()
    const asked: string[] = []
    const secrets = (ref: string): Promise<string> => {
      asked.push(ref)
      return Promise.resolve(`value of ${ref}`)
    }
    expect(await resolveEnvironment(manifest, secrets, redactor)).toEqual({
      A: 'plain',
      B: 'value of one',
      C: 'value of one',
    })
    expect(asked).toEqual(['one'])
    expect(redactor.redact('the value of one and plain')).toBe('the [redacted] and plain')
  })

  it('names every variable that has no value, and no value', async () => {
    const manifest = parseManifest({
      environment: { A: { secret: 'gone' }, B: { secret: 'nul' }, C: { secret: 'number' }, D: { secret: 'fine' } },
    })
    const secrets = async (ref: string): Promise<string> => {
      if (ref === 'gone')
        throw new SandboxError('store_unavailable', 'the vault is closed', { store: 'v', reason: 'r' })
      if (ref === 'nul') return 'hunter2-hunter2\0'
      return ref === 'number' ? (42 as unknown as string) : 'hunter3-hunter3'
    }
    const error: unknown = await resolveEnvironment(manifest, secrets, createRedactor()).catch(
      (thrown: unknown) => thrown,
    )
    if (!isSandboxError(error, 'invalid_config')) throw error
    expect(error.details.problems).toEqual([
      "environment.A: secret 'gone' could not be resolved",
      "environment.B: secret 'nul' holds a NUL byte",
      "environment.C: secret 'number' was resolved to something that is not text",
    ])
    expect(error.retryable).toBe(false)
    expect(JSON.stringify(error)).not.toMatch(/hunter|42/)
  })

  it('may be tried again when all that failed may', async () => {
    const manifest = parseManifest({ environment: { A: { secret: 'a' }, B: { secret: 'b' } } })
    const closed = (): Promise<string> =>
      Promise.reject(new SandboxError('store_unavailable', 'closed', { store: 'v', reason: 'r' }))
    await expect(resolveEnvironment(manifest, closed, createRedactor())).rejects.toMatchObject({ retryable: true })
  })
})
