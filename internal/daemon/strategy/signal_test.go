package strategy

import (
	"strings"
	"testing"
)

func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		match   signalMatch
		signals string // with | between
		output  string
		want    bool
	}{
		{matchSubstring, "end cycle|stop|done", "Well done!", true},
		{matchSubstring, "end cycle|stop|done", "unSTOPpable", true},
		{matchSubstring, "end cycle|stop|done", "not yet", false},
		{matchSubstring, "DONE", "done", true},
		{matchSubstring, "ÄPFEL", "drei äpfel", true},
		{matchSubstring, "a\nb", "x a\nb", true},
		{matchSubstring, "x", "", false},
		{matchFirstLine, "==OK==", "==OK==", true},
		{matchFirstLine, "==OK==", "\n \t\n  ==ok==  \nand more", true},
		{matchFirstLine, "==OK==", "==OK== because", true},
		{matchFirstLine, "==OK==", "==OK==\tbecause", true},
		{matchFirstLine, "==OK==", "==OK==\u00a0because", true},
		{matchFirstLine, "==OK==", "==OK==ish", false},
		{matchFirstLine, "==OK==", "==OK==.", false},
		{matchFirstLine, "==OK==", "so: ==OK==", false},
		{matchFirstLine, "==OK==", "no\n==OK==", false},
		{matchFirstLine, "==OK==", "", false},
		{matchFirstLine, "no|yes", "Yes, sir\nno", false},
		{matchFirstLine, "no|yes", "yes sir", true},
		{matchAnyLine, "==OK==", "first\r\n  ==OK== now\r\nlast", true},
		{matchAnyLine, "==OK==", "first ==OK==", false},
		{matchAnyLine, "==OK==", "==OK==!\n==OK=", false},
		{matchExact, "DONE", " done \n", true},
		{matchExact, "DONE", "done.", false},
		{matchExact, "DONE", "DONE\nReason", false},
		{matchExact, "a\nb", "A\nB", true},
	} {
		if got := tt.match.found(tt.output, strings.Split(tt.signals, "|")); got != tt.want {
			t.Errorf("%s: %q in %q: %v", tt.match, tt.signals, tt.output, got)
		}
	}
}
