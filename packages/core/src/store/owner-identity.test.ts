import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../errors/error-details.js'
import { currentOwner, judgeOwner, sameMachine, sameProcess } from './owner-identity.js'
import type { OwnerIdentity } from './owner-identity.js'

const onLinux = describe.skipIf(process.platform !== 'linux')

describe('judgeOwner', () => {
  it('knows this process, also after the way through JSON', () => {
    const own = JSON.parse(JSON.stringify(currentOwner())) as JsonValue
    expect(own).toEqual(currentOwner())
    expect([judgeOwner(own), sameProcess(own), sameMachine(own)]).toEqual(['alive', true, true])
  })

  it('does not know what is no identity', () => {
    const bad = [null, 1, 'x', [], {}, { ...currentOwner(), pid: -1 }, { ...currentOwner(), pid: '1' }, { pid: 1 }]
    for (const value of bad) {
      expect([judgeOwner(value), sameProcess(value), sameMachine(value)]).toEqual(['unknown', false, false])
    }
  })

  it.each<[string, Partial<OwnerIdentity>]>([
    ['another host', { host: 'elsewhere' }],
    ['another boot', { bootId: '00000000-0000-0000-0000-000000000000' }],
    ['an unknown boot', { bootId: null }],
    ['another pid namespace', { pidNamespace: 'pid:[1]' }],
  ])('proves nothing about %s, not even for a process number that is free here', (_name, change) => {
    const other = { ...currentOwner(), pid: 2 ** 22 + 1, startTime: '1', ...change }
    expect(judgeOwner(other)).toBe('unknown')
    expect(sameProcess({ ...currentOwner(), ...change })).toBe(false)
  })
})

onLinux('judgeOwner, by /proc', () => {
  it('tells the living from the ended, and from a zombie', async () => {
    const zombies = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [line] = (await once(zombies.stdout, 'data')) as [Buffer]
      const living = ownerOf(zombies.pid ?? 0)
      expect(judgeOwner(living)).toBe('alive')
      expect(judgeOwner({ ...living, startTime: '1' })).toBe('dead')
      expect(judgeOwner({ ...living, startTime: null })).toBe('unknown')

      // Its parent has become `sleep` and never asks for its end.
      const zombie = Number(line.toString())
      await until(() => stateOf(zombie) === 'Z')
      expect(judgeOwner(ownerOf(zombie))).toBe('dead')

      zombies.kill('SIGKILL')
      await once(zombies, 'close')
      expect(judgeOwner(living)).toBe('dead')
    } finally {
      zombies.kill('SIGKILL')
    }
  })
})

function statOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
}

function stateOf(pid: number): string | undefined {
  return statOf(pid)[0]
}

function ownerOf(pid: number): OwnerIdentity {
  return { ...currentOwner(), pid, startTime: statOf(pid)[19] ?? null }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
