import Testing

@testable import Session

@Test(arguments: [
  #"{"a":1,"b":[true,false,null],"c":"x\n\"\\ü😀","d":-1.5,"e":{}}"#, "[]", "0", "-0.001", #""""#,
  #"[1,[2,[3,[]]],{"k":{"k":0}}]"#,
])
func `a text comes back as it was`(_ text: String) throws {
  #expect(try JSON.read(Array(text.utf8)).line == text)
}

@Test(arguments: [
  "", "{", "[1,", "[1 2]", #"{"a"}"#, #"{"a":}"#, "nul", "01x", "1e999", "-", #""\q""#, #""\u12""#,
  "\"\u{1}\"", "[1]x",
  String(repeating: "[", count: 100_000), "1" + String(repeating: "0", count: 100),
])
func `what isn't JSON is refused`(_ text: String) {
  #expect(throws: JSONError.self) { try JSON.read(Array(text.utf8)) }
}

@Test func `bytes that aren't UTF-8 are replaced, surrogates joined or replaced`() throws {
  #expect(try JSON.read([0x22, 0xFF, 0x22]).string == "\u{FFFD}")
  #expect(try JSON.read(Array(#""\ud83d\ude00 \ud83d x""#.utf8)).string == "😀 \u{FFFD} x")
}

@Test(arguments: [Double.nan, .infinity, -.infinity])
func `a number that isn't finite never gets into the output`(_ value: Double) {
  #expect(JSON.double(value).line == "0")
  #expect(JSON.rounded(value, 2).line == "0")
}

@Test func `numbers are rounded, and there is no -0`() {
  #expect(JSON.rounded(-23.14159, 2).line == "-23.14")
  #expect(JSON.rounded(-0.0001, 2).line == "0")
  #expect(JSON.double(5).line == "5")
}

@Test func `control characters are escaped`() {
  #expect(JSON.string("a\u{1}\u{7F}\n").line == "\"a\\u0001\\u007f\\n\"")
}

@Test(arguments: 0..<70)
func `Base64 comes back`(_ count: Int) {
  let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
  #expect(Base64.decode(Base64.encode(bytes)) == bytes)
}
@Test(arguments: ["a", "abc", "ab=c", "====", "ab-_"]) func `what isn't Base64 is refused`(_ text: String) {
  #expect(Base64.decode(text) == nil)
}
