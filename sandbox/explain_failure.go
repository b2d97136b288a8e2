package sandbox

import (
	"os"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

// failedSigning lists the messages of git and ssh-keygen about a missing key for signing a commit,
// each with the folder of the key.
var failedSigning = []struct{ text, folder string }{
	{"gpg failed to sign the data", ".gnupg"},
	{"couldn't load public key", ".ssh"},
	{"no private key found for", ".ssh"},
	{"load key \"", ".ssh"},
}

// signingFailures reports that git cannot sign because the keys are secrets.
func (f *finder) signingFailures(text string) []Violation {
	lower, home := strings.ToLower(text), variable(f.env, "HOME")
	for _, s := range failedSigning {
		if home == "" || !strings.Contains(lower, s.text) {
			continue
		}
		if v := f.box.Explain(path.Join(home, s.folder), policy.OpRead); v != nil {
			v.Hint = "to commit without a signature: git -c commit.gpgsign=false commit; to sign, add \"git commit\" to excludedCommands: it then runs outside the sandbox and needs approval each time"
			return []Violation{*v}
		}
	}
	return nil
}

// foreignSocket returns the socket of a program outside the sandbox that a text names, for example an
// error message of docker. It returns "" if the text names none. Such a socket is unreachable even
// with network.allowUnixSockets.
func (f *finder) foreignSocket(text string) string {
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
		if !inAny(privateFolders, full) && f.box.Explain(full, policy.OpWrite) != nil {
			return name
		}
	}
	return ""
}

// toForeign changes the violation of a refused socket into one about the socket of a program outside
// the sandbox, if there is one.
func (v *Violation) toForeign(socket string) {
	if socket == "" {
		return
	}
	v.reported = false
	v.Reason = socket + " belongs to a program outside the sandbox"
	v.Hint = "add the command, such as \"docker\", to excludedCommands: it then runs outside the sandbox and needs approval each time"
}
