package convert_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
)

// A line stored next to its item contains no secret either, in whatever form it is stored.
func TestMaskKept(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	pem := `-----BEGIN RSA ` + `PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgwMbRvI0MBZhpI\n-----END RSA PRIVATE KEY-----`
	esc := `\u0067hp_` + token[4:]
	for name, text := range map[string]string{"token": token, "pem": pem, "escaped": esc, "bytes": token + "\xff"} {
		for _, sep := range []string{":", ": "} {
			line := strings.ReplaceAll(`{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"x `+text+` y"}}`, `":`, `"`+sep)
			dir := t.TempDir()
			path := filepath.Join(dir, "s.jsonl")
			lines := line + "\n{\"type\"" + sep + "\"odd\",\"note\":\"" + text + "\"}\n"
			if name != "escaped" { // which means nothing there
				lines += "no JSON: " + text + "\n"
			}
			if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			s := newSessions()
			r, err := convert.Import(t.Context(), s, convert.Source{Path: path, Format: convert.Claude}, &convert.Options{Mask: mask})
			if err != nil || r.Masked == 0 {
				t.Fatal(name, r.Masked, err)
			}
			verify(t, s, r.Session)
			for rec, err := range s.Store().Read(t.Context(), r.Session, session.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				p := rec.Payload
				for _, m := range regexp.MustCompile(`"base64":"([^"]*)"`).FindAllSubmatch(p, -1) {
					raw, err := base64.StdEncoding.DecodeString(string(m[1]))
					if err != nil {
						t.Fatal(err)
					}
					p = append(append([]byte{}, p...), raw...)
				}
				for _, bad := range []string{token[4:], "MIIEpAIB"} {
					if bytes.Contains(p, []byte(bad)) {
						t.Errorf("%s sep %q: %s leaks %s: %s", name, sep, rec.Kind, bad, rec.Payload)
					}
				}
			}
		}
	}
}
