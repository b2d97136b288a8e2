package transcript

import (
	"fmt"
	"strings"
)

// The faults of a [PairingError].
const (
	faultDuplicateUse    = "duplicate tool_use"
	faultOrphanResult    = "orphaned tool_result"
	faultDuplicateResult = "duplicate tool_result"
	faultUnanswered      = "tool_use without matching tool_result"
)

// PairingError is returned if tool uses or results break the pairing rule.
type PairingError struct {
	Fault string   // how the tool uses or results break the rule
	IDs   []string // tool-use ids
	Item  int      // index of the item that breaks the rule
}

func (e *PairingError) Error() string {
	return fmt.Sprintf("%s %s (item %d)", e.Fault, strings.Join(e.IDs, ", "), e.Item)
}
