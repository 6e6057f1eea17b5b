// A front end that imports Holdfast sees the types its API speaks in.
@_exported import Capture
@_exported import Platform
@_exported import Session
@_exported import Signal
