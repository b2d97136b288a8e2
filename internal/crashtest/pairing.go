package crashtest

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/transcript"
)

// CheckPairing returns the error that a strict provider would return for a transcript: every use
// must be answered once, by the items right after it, and every result must have a use. It shares
// no code with the code that it checks.
func CheckPairing(items []transcript.Encoded) error {
	seen := map[string]bool{}
	var open []string
	for i, e := range items {
		if results := e.ResultIDs(); len(results) > 0 {
			for _, id := range results {
				at := -1
				for j, o := range open {
					if o == id {
						at = j
					}
				}
				if at < 0 {
					return fmt.Errorf("item %d answers %q, but no open tool use has this id", i, id)
				}
				open = append(open[:at:at], open[at+1:]...)
			}
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("item %d (%s) comes while %q waits for its result", i, e.Role(), open)
		}
		for _, id := range e.UseIDs() {
			if seen[id] {
				return fmt.Errorf("item %d uses the id %q again", i, id)
			}
			seen[id] = true
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%q never got a result", open)
	}
	return nil
}
