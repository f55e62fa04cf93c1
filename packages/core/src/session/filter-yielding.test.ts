import { expect, it } from 'vitest'
import { filterYielding } from './filter-yielding.js'

const slow = (number: number): boolean => {
  const until = performance.now() + 1
  while (performance.now() < until);
  return number % 2 === 0
}

it('filters, lets others have their turn, and gives up when its signal fires', async () => {
  const numbers = Array.from({ length: 100 }, (_, index) => index)
  expect(await filterYielding(numbers, slow)).toEqual(numbers.filter((number) => number % 2 === 0))
  const reason = new Error('over')
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), 5)
  await expect(filterYielding(numbers, slow, controller.signal)).rejects.toBe(reason)
})
