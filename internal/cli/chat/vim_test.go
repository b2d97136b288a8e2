package chat

import (
	"strings"
	"testing"
)

// /vim gives the box the keys of vi and shows the mode before it. Escape ends the insert mode before it
// interrupts.
func TestVim(t *testing.T) {
	x := talk(t, waitingPlay, nil)
	x.until("sandbox")
	x.says("/vim")
	if s := x.screen(); !strings.Contains(s, "\ninsert > ") {
		t.Fatalf("the mode is not shown:\n%s", s)
	}
	x.types("one two")
	x.press("esc")
	x.types("bD")
	if s := x.screen(); !strings.Contains(s, "\nnormal > one \n") || strings.Contains(s, "press esc") {
		t.Errorf("esc or D:\n%s", s)
	}
	x.press("esc")
	if s := x.screen(); !strings.Contains(s, "press esc again to clear") {
		t.Errorf("the second esc is not for the program:\n%s", s)
	}
	x.types("ccgo")
	x.press("enter")
	x.until("permission Write")
	x.press("esc")
	x.until("interrupted")
	x.says("/vim")
	if s := x.screen(); strings.Contains(s, "insert >") {
		t.Errorf("/vim does not end it:\n%s", s)
	}
}
