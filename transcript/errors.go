package transcript

import (
	"errors"
	"fmt"
	"strings"
)

// ErrPairing is wrapped by every [PairingError].
var ErrPairing = errors.New("tool uses and results do not pair")

// PairingFault names how tool uses and results fail to pair.
type PairingFault string

// The faults.
const (
	faultDuplicateUse    PairingFault = "duplicate tool_use"
	faultOrphanResult    PairingFault = "orphaned tool_result"
	faultDuplicateResult PairingFault = "duplicate tool_result"
	faultUnanswered      PairingFault = "tool_use without matching tool_result"
)

// PairingError says which tool uses or results break the pairing rule.
type PairingError struct {
	Fault PairingFault
	IDs   []string // tool-use ids
	Item  int      // index of the item at which it showed
}

func (e *PairingError) Error() string {
	return fmt.Sprintf("%s %s (item %d)", e.Fault, strings.Join(e.IDs, ", "), e.Item)
}

func (e *PairingError) Unwrap() error { return ErrPairing }
