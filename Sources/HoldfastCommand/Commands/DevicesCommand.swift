import Holdfast

/// `holdfast devices`.
enum DevicesCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.isEmpty else { throw UsageError("devices takes no operand") }
    let devices = ALSADevices.list()
    if arguments.has("--json") {
      for device in devices { output.json(json(device)) }
      return 0
    }
    guard !devices.isEmpty else {
      output.line("no sound device that can record")
      return 0
    }
    for device in devices {
      let marks = [device.isDefault ? "default" : nil, device.kind.rawValue, device.status.rawValue]
        .compactMap { $0 }
      output.line(pad(device.id.display, 28) + pad(marks.joined(separator: ", "), 28) + device.description)
      if let offer = device.offer { output.line("    " + offer.text) }
    }
    return 0
  }

  private static func json(_ device: ALSADevice) -> JSON {
    var fields: [(String, JSON)] = [("id", .string(device.id.text))]
    if !device.id.isUTF8 { fields.append(("id_hex", .string(device.id.hex))) }
    fields += [
      ("description", .string(device.description)), ("default", .bool(device.isDefault)),
      ("monitor", .bool(device.isMonitor)), ("kind", .string(device.kind.rawValue)),
      ("status", .string(device.status.rawValue)), ("busy", .bool(device.status == .busy)),
    ]
    if let offer = device.offer {
      fields += [
        ("formats", .array(offer.formats.map { .string($0) })),
        ("rates", .array(offer.rates.map { .int(Int64($0)) })),
        (
          "channels",
          .array([.int(Int64(offer.channels.lowerBound)), .int(Int64(offer.channels.upperBound))])
        ),
      ]
    }
    return .object(fields)
  }
}
