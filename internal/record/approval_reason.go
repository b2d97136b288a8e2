package record

// The reasons for approval requests, with the names that the Open Agent SDK uses.
const (
	ReasonAsk      = "policy-ask"
	ReasonOverride = "policy-deny-override" // the approver may override a deny of the session
)
