package record

import "encoding/json"

// Why a person is asked, in the words of seed 002.
const (
	ReasonAsk      = "policy-ask"
	ReasonOverride = "policy-deny-override" // a session deny is to be overridden
)

// Question is an approval.asked record.
type Question struct {
	Seq     int64
	ID      string // the payload's "id"
	Use     string // the payload's "use_id": the tool use that it is about, or ""
	Asker   string // the payload's "asker": the session whose tool use that is, or "" for this one
	Payload json.RawMessage
}

// AnsweredQuestion is a question with the payload of its approval.resolved record.
type AnsweredQuestion struct {
	Question
	Answer json.RawMessage
}
