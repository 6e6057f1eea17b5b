import Foundation
import TestSupport
import Testing

/// What can happen at a call to the disk.
let blows = ["KILL", "KILLAFTER", "EIO", "ENOSPC"]

/// Runs once without faults, then with each blow at each call below `takes` that touches more than a descriptor.
func everyCall(
  _ arguments: [String], from original: String, environment: [String: String?] = [:],
  under: String = "takes",
  _ check: (_ folder: TempFolder, _ said: Finished, _ there: String) throws -> Void
) throws {
  func attempt(_ rules: String) throws -> (TempFolder, [FaultDisk.Step], Finished) {
    let here = try TempFolder("trash")
    try FileManager.default.copyItem(atPath: original, toPath: here.file("takes"))
    let fault = try FaultDisk(rules, under: here.file(under), log: here.file("log"))
    var both = environment.merging(fault.environment) { $1 }
    if let mine = environment["LD_PRELOAD"] as? String,
      let disk = fault.environment["LD_PRELOAD"] as? String
    {
      both["LD_PRELOAD"] = disk + ":" + mine
    }
    let said = try holdfast(arguments, environment: both, folder: here.file("takes"))
    return (here, fault.steps(), said)
  }
  let plain = try attempt("")
  #expect(plain.2.code == 0, "\(plain.2)")
  try #require(plain.1.count > 10)
  for step in plain.1 where step.operation != "close" {
    for blow in blows {
      let (here, steps, said) = try attempt("any@\(step.number)=\(blow)")
      let there = "\(step) \(blow): \(said)"
      #expect(steps.contains { $0.injected != nil }, "\(there)")
      if blow.hasPrefix("KILL") { #expect(said.signal == SIGKILL, "\(there)") }
      try check(here, said, there)
    }
  }
}
