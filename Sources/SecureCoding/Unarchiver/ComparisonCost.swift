import Foundation
import KeyedArchives

/// What comparing objects costs.
///
/// Foundation on Linux gives containers their count as a hash, and long strings a hash of some of their characters; so a
/// small archive of sets in sets can make filling them take years. Before a set or dictionary is filled, its elements are
/// grouped by hash: within a group each may be compared with each other one, and each comparison costs what the elements
/// consist of.
extension SecureUnarchiver {
  /// Takes what filling a container with `elements` may cost, and notes what comparing it as a whole may cost later.
  func takeComparisons(_ elements: [NSObject], ofObject number: Int) throws(ArchiveError) {
    var groups: [Int: (count: Int, cost: Int)] = [:]
    groups.reserveCapacity(elements.count)
    var total = 0
    for (element, reference) in zip(elements, references(ofObject: number)) {
      // Asking Foundation on Linux for the hash of these ends the process.
      guard !(element is NSDecimalNumber), !(element is NSError) else {
        throw .invalidValue(ofClass: ClassNames.name(of: type(of: element)), reason: "it has no hash", at: here)
      }
      let cost = reference < 0 ? 1 : comparisonCost(ofObject: reference)
      total = total.saturatingSum(cost)
      let group = groups[element.hash] ?? (0, 0)
      groups[element.hash] = (group.count + 1, group.cost.saturatingSum(cost))
    }
    var comparisons = 0
    var largest = 1
    for group in groups.values where group.count > 1 {
      comparisons = comparisons.saturatingSum(group.cost.saturatingProduct(group.count))
      largest = max(largest, group.count)
    }
    try budget.take(comparisons: comparisons, at: here)
    comparisonCosts[number] = 1.saturatingSum(total.saturatingProduct(largest))
  }

  /// Notes that comparing an object goes through everything it consists of.
  func noteCost(ofObject number: Int, elements: Int) {
    var total = 1
    for reference in table.graph.references(of: number) {
      total = total.saturatingSum(comparisonCost(ofObject: Int(reference)))
    }
    comparisonCosts[number] = total
  }

  /// What comparing one object with another may cost: as much as was noted, else as much as it unfolds to.
  private func comparisonCost(ofObject number: Int) -> Int {
    comparisonCosts[number] ?? Int(clamping: table.graph.unfolded[number])
  }

  /// The objects that the elements of a container are, in their order; -1 without end where they are not references.
  private func references(ofObject number: Int) -> some Sequence<Int> {
    let references = table.graph.references(of: number)
    return sequence(state: references.startIndex) { (index: inout Int) -> Int? in
      guard index < references.endIndex else { return -1 }
      defer { index += 1 }
      return Int(references[index])
    }
  }
}
