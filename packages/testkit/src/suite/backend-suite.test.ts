import { describe, expect, it } from 'vitest'
import { BACKEND_CASES } from './backend-suite.js'

const PROFILES: Readonly<Record<string, string>> = {
  lifecycle: 'LIFE',
  exec: 'EXEC',
  files: 'FILE',
  paths: 'PATH',
  recovery: 'RECO',
  idempotence: 'IDEM',
}

describe('BACKEND_CASES', () => {
  it('says of every case what it is about', () => {
    for (const { id, clause, title, level, profile } of BACKEND_CASES) {
      const prefix = PROFILES[profile]
      expect(prefix, `profile of ${id}`).toBeDefined()
      expect(id).toMatch(new RegExp(`^${profile}\\.[a-z0-9][a-zA-Z0-9.-]*$`))
      expect(clause, id).toMatch(new RegExp(`^${prefix}-[1-9][0-9]*$`))
      expect(title, id).toMatch(/^\S.{9,}\S$/s)
      expect(['MUST', 'SHOULD', 'MAY'], id).toContain(level)
    }
  })

  it('gives every case an id of its own, under which it can be run alone', () => {
    const ids = BACKEND_CASES.map(({ id }) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  it('examines no sentence twice, and uses no number for two clauses', () => {
    const titles = BACKEND_CASES.map(({ clause, title }) => `${clause}: ${title}`)
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
    // Cases of one clause stand together in the order of the report, so that a number given twice shows.
    const order = BACKEND_CASES.map(({ clause }) => clause).filter((clause, index, all) => clause !== all[index - 1])
    expect(order.filter((clause, index) => order.indexOf(clause) !== index)).toEqual([])
  })
})
