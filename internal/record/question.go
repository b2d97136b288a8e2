package record

// Why a person is asked, in the words of seed 002.
const (
	ReasonAsk      = "policy-ask"
	ReasonOverride = "policy-deny-override" // a session deny is to be overridden
)
