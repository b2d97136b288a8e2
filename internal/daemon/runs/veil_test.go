package runs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
)

const (
	madeUpKey  = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	madeUpLine = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7hRk5d2Jm0zPq"
	madeUpPEM  = "-----BEGIN " + "PRIVATE KEY-----\n" + madeUpLine + "\n" + madeUpLine + "\n-----END PRIVATE KEY-----"
)

// However a text is cut into pieces, what is told of it is the text with its secrets
// masked, and no secret is told.
func TestVeil(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"the key is", madeUpKey, "\n", " ", "and then", "x=1;", madeUpPEM, "\n\n", "done.", "export TOKEN=" + madeUpKey}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(rt, "text"), " ")
		v := &streamMasker{mask: mask}
		var told strings.Builder
		hear := func(list []event.Event) {
			for _, e := range list {
				if d, ok := e.(event.TextDelta); ok {
					told.WriteString(d.Text)
				}
			}
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 30)).Draw(rt, "n")
			hear(v.write(event.TextDelta{Text: rest[:n]}))
			rest = rest[n:]
		}
		hear(v.write(event.ModelFinished{}))
		if got := told.String(); strings.Contains(got, madeUpKey) || strings.Contains(got, madeUpLine) {
			rt.Fatalf("told %q", got)
		}
		if want, _ := mask.Text(text); told.String() != want {
			rt.Fatalf("told %q, want %q", told.String(), want)
		}
	})
}

// Without a masker pieces go through as they are; what is no piece comes after them.
func TestVeilOpen(t *testing.T) {
	if got := (&streamMasker{}).write(event.TextDelta{Text: madeUpKey}); len(got) != 1 || got[0] != (event.TextDelta{Text: madeUpKey}) {
		t.Errorf("%v", got)
	}
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &streamMasker{mask: mask}
	list := v.write(event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"command":"ls`})
	list = append(list, v.write(event.TextDelta{Text: "next"})...)
	list = append(list, v.write(event.Notice{Text: "key " + madeUpKey})...)
	var got []string
	for _, e := range list {
		switch e := e.(type) {
		case event.ToolInputDelta:
			got = append(got, e.Use+e.Tool+e.JSON)
		case event.TextDelta:
			got = append(got, e.Text)
		case event.Notice:
			got = append(got, e.Text)
		}
	}
	all := strings.Join(got, "|")
	if !strings.HasPrefix(all, `uBash{"command":"ls|next|key `) || strings.Contains(all, madeUpKey) {
		t.Errorf("%q", all)
	}
}
