package session

// ThisProcess is for the tests of what tells whether a process lives.
var ThisProcess = thisProcess

// KindTexts is for the test that every kind is in the register.
var KindTexts = kindTexts

// Replay is for the tests of what a state is folded from.
var Replay = replayAll
