package record

// ByNobody reports whether a recorded answer was given because no one was available or the time
// limit was reached.
func ByNobody(by string) bool { return by == "nobody" || by == "timeout" }

// ByProgram reports whether a recorded answer came from the program itself, without a rule, a mode
// or a person.
func ByProgram(by string) bool {
	switch by {
	case "interrupt", "lapse", "start", "restart", "restore", "cut", "approval", "guard", "input":
		return true
	}
	return false
}
