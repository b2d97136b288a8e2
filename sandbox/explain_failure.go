package sandbox

import (
	"os"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

// failedSigning are what git and ssh-keygen say without the key that a commit is to be signed with, and
// where the key is.
var failedSigning = []struct{ text, folder string }{
	{"gpg failed to sign the data", ".gnupg"},
	{"couldn't load public key", ".ssh"},
	{"no private key found for", ".ssh"},
	{"load key \"", ".ssh"},
}

// signing tells that git cannot sign because the keys are secrets.
func (f *finder) signing(text string) []Violation {
	lower, home := strings.ToLower(text), variable(f.env, "HOME")
	for _, s := range failedSigning {
		if home == "" || !strings.Contains(lower, s.text) {
			continue
		}
		if v := f.box.Explain(path.Join(home, s.folder), policy.OpRead); v != nil {
			v.Hint = "without a signature: git -c commit.gpgsign=false commit; to sign, add \"git commit\" to excludedCommands: it runs outside then, and a person is asked each time"
			return []Violation{*v}
		}
	}
	return nil
}

// foreign is a socket of a program outside that a text names, as an error about docker's does; "" if it
// names none. With network.allowUnixSockets it is out of reach, too.
func (f *finder) foreign(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r'\"`‘’“”()[]<>,;", r) }) {
		_, word, found := strings.Cut(":"+word, ":/") // unix:///run/x.sock and dial:/run/x.sock
		if !found || len(word) > maxName {
			continue
		}
		name := path.Clean("/" + strings.TrimRight(word, ":."))
		full, err := realpath.Resolve(name)
		if err != nil {
			continue
		}
		info, err := os.Stat(full)
		socket := err == nil && info.Mode()&os.ModeSocket != 0
		if !socket && !strings.HasSuffix(name, ".sock") && !strings.HasSuffix(name, ".socket") {
			continue
		}
		if !inAny(private, full) && f.box.Explain(full, policy.OpWrite) != nil {
			return name
		}
	}
	return ""
}

// toForeign makes of a refused socket one about that of a program outside, if there is one.
func (v *Violation) toForeign(socket string) {
	if socket == "" {
		return
	}
	v.blamed = false
	v.Reason = socket + " belongs to a program outside"
	v.Hint = "add the command, such as \"docker\", to excludedCommands: it runs outside then, and a person is asked each time"
}
