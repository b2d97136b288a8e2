package record

// Reasons of approval requests, with the names of the Open Agent SDK.
const (
	ReasonAsk      = "policy-ask"
	ReasonOverride = "policy-deny-override" // the approver may override a deny of the session
)
