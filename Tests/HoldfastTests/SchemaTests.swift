import Foundation
import TestSupport
import Testing

/// Real output against docs/schema: every line of standard output is a JSON object of the contract.
@Suite struct SchemaTests {
  private func expectValid(
    _ text: String, _ schema: String, lines: ClosedRange<Int>,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let faults = try Judge.schemaFaults(text, schema: Places.root + "/docs/schema/\(schema).json")
    #expect(faults == [], sourceLocation: sourceLocation)
    let all = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.contains(all.count - 1) && all.last == "", sourceLocation: sourceLocation)
    for line in all.dropLast() {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
      #expect(isFinite(object), "\(line)", sourceLocation: sourceLocation)
    }
  }
  /// No number that isn't one, and no null.
  private func isFinite(_ value: Any) -> Bool {
    switch value {
    case let object as [String: Any]: object.values.allSatisfy(isFinite)
    case let list as [Any]: list.allSatisfy(isFinite)
    case let number as NSNumber: number.doubleValue.isFinite
    case is NSNull: false
    default: true
    }
  }

  @Test func `events of a take with a pause, a mark and a context`() throws {
    let live = try LiveTake([
      "--input", "tone:440", "--session", "s-1 ü \"q\"", "--round", "3", "--min-valid-ms", "20000",
    ])
    try live.reach(ms: 100)
    live.process.signal(SIGUSR2)
    try live.pause()
    try live.resume()
    try live.reach(ms: 200)
    let take = try live.stop()
    try expectSealed(take)
    try expectValid(take.said.outText, "events", lines: 10...40)
    for event in take.events {
      let context = event.object("context")
      #expect(context.text("session") == "s-1 ü \"q\"" && context.int("round") == 3)
    }
    #expect(take.sealed?.int("missing_ms") == 20_000 - (take.sealed?.int("duration_ms") ?? 0))
    let kinds = Set(take.events.compactMap { $0.text("event") })
    #expect(kinds == ["state", "level", "mark", "sealed"])
    #expect(
      take.all("state").map { $0.text("state") } == [
        "preparing", "recording", "paused", "recording", "sealing", "sealed",
      ])

    try expectValid(holdfast(["inspect", "--json", take.path]).outText, "inspect", lines: 1...1)
    try expectValid(holdfast(["list", "--json", take.folder.path]).outText, "list", lines: 1...1)
    try expectValid(holdfast(["verify", "--json", take.path]).outText, "verify", lines: 1...1)
    let manifest = try String(contentsOfFile: take.folder.file("take.take.json"), encoding: .utf8)
    let flat = try JSONSerialization.data(
      withJSONObject: JSONSerialization.jsonObject(with: Data(manifest.utf8)))
    try expectValid(String(decoding: flat, as: UTF8.self) + "\n", "manifest", lines: 1...1)
    let listed = try holdfast(["list", "--json", take.folder.path]).jsonLines().map(Fields.init)
    #expect(listed.first?.object("context").int("round") == 3)
  }

  @Test func `a take without frames, and one that is discarded`() throws {
    let folder = try TempFolder()
    let none = try record(["--input", "-"], in: folder, input: .nothing)
    try expectSealed(none, frames: 0)
    try expectValid(none.said.outText, "events", lines: 4...5)
    try expectValid(holdfast(["inspect", "--json", none.path]).outText, "inspect", lines: 1...1)
    let other = try TempFolder()
    let discarded = try Data(ScheduledTake.discarded(in: other).utf8)
    try expectValid(String(decoding: discarded, as: UTF8.self), "events", lines: 3...40)
    let events = try discarded.split(separator: 10).map {
      try Fields(JSONSerialization.jsonObject(with: $0) as? [String: Any] ?? [:])
    }
    #expect(events.contains { $0.text("event") == "discarded" && $0.text("path")?.exists == true })
    #expect(!events.contains { $0.text("event") == "sealed" })
  }

  @Test func `errors of every command are objects of the contract`() throws {
    let folder = try TempFolder()
    try folder.write("text.wav", "no audio\n")
    try folder.write("there.opus", "mine")
    let commands: [(String, [String], Int32)] = [
      ("events", ["record", "--json", "--input", "file:missing.wav", "-o", "a.opus"], 66),
      ("events", ["record", "--json", "--input", "file:text.wav", "-o", "a.opus"], 65),
      ("events", ["record", "--json", "--input", "tone:440", "-o", "there.opus"], 73),
      ("events", ["record", "--json", "--input", "tone:440", "-o", "a.wav"], 64),
      ("events", ["record", "--json", "--input", "tone:-1", "-o", "a.opus"], 64),
      ("events", ["record", "--json", "--nosuch"], 64), ("events", ["record", "--json", "operand"], 64),
      ("events", ["record", "--json", "--max-ms", "1e9", "-o", "a.opus"], 64),
      ("inspect", ["inspect", "--json", "missing.wav"], 66),
      ("inspect", ["inspect", "--json", "text.wav"], 65),
      ("inspect", ["inspect", "--json"], 64), ("inspect", ["inspect", "--json", "."], 66),
      ("verify", ["verify", "--json", "missing.opus"], 66),
      ("verify", ["verify", "--json", "there.opus"], 65),
      ("verify", ["verify", "--json"], 64), ("list", ["list", "--json", "missing"], 66),
      ("list", ["list", "--json", "a", "b"], 64),
    ]
    for (schema, arguments, code) in commands {
      let said = try holdfast(arguments, folder: folder.path)
      #expect(said.code == code && said.isOneLine, "\(arguments): \(said)")
      try expectValid(said.outText, schema, lines: 1...1)
    }
    #expect(folder.names == ["text.wav", "there.opus"])
  }

  @Test func `inspect of every odd file, and a list of all kinds of takes`() throws {
    for group: Character in ["G", "E", "C"] {
      let folder = try Cases.folder(group)
      let all = try Cases.truth(group).keys.sorted().map { folder + "/" + $0 }
      try expectValid(holdfast(["inspect", "--json"] + all).outText, "inspect", lines: all.count...all.count)
    }
    let folder = try TempFolder()
    try expectSealed(record(["--input", "tone:440", "--max-ms", "100"], to: "sealed.opus", in: folder))
    let dead = try LiveTake(in: folder, to: "dead.opus")
    dead.process.signal(SIGKILL)
    dead.process.wait()
    let live = try LiveTake(in: folder, to: "live.opus")
    try folder.write("junk.opus", "no Opus at all")
    try FileManager.default.copyItem(
      atPath: Cases.folder("E") + "/E01/good.opus", toPath: folder.file("foreign.opus"))
    let said = try holdfast(["list", "--json", folder.path])
    try expectValid(said.outText, "list", lines: 5...5)
    let kinds = try said.jsonLines().map(Fields.init).map { ($0.text("path")?.fileName, $0.text("outcome")) }
    let expected = [
      "dead.opus": "unfinished", "foreign.opus": "foreign", "junk.opus": "unreadable",
      "live.opus": "recording",
      "sealed.opus": "complete",
    ]
    for (name, outcome) in kinds { #expect(expected[name ?? ""] == outcome, "\(name ?? "")") }
    for name in ["dead.opus", "live.opus"] {
      try expectValid(holdfast(["inspect", "--json", folder.file(name)]).outText, "inspect", lines: 1...1)
    }
    try expectSealed(live.stop())
  }
}
