import Testing
@Test func `a path shows one line`() {}
