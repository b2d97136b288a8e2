package session

// KindTexts is for the test that every kind is in the register.
var KindTexts = kindTexts
