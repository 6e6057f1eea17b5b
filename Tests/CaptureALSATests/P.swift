import Testing
@Test func `placeholder of the device tests`() {}
