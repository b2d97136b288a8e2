package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// copyToolConfig copies the parts of the user's package manager configuration that commands may know to
// the folder of the caches. It returns the variables by which package managers find the copies.
// Commands cannot see the original files, because those contain tokens.
func (s *Sandbox) copyToolConfig(at string) (env []string) {
	home := s.compiler.home
	if at == "" || home == "" || s.compiler.unconfined {
		return nil
	}
	for _, f := range []struct {
		variable, name string
		files          []string
		plain          func(home string) []byte
	}{
		{"npm_config_userconfig", "npmrc", []string{".npmrc"}, registries.RedactedNPM},
		{"PIP_CONFIG_FILE", "pip.conf", registries.PipFiles, registries.RedactedPip},
	} {
		hidden := slices.ContainsFunc(f.files, func(name string) bool { return s.Explain(filepath.Join(home, name), policy.OpRead) != nil })
		text := f.plain(home)
		if !hidden || len(text) == 0 {
			continue
		}
		if err := writeIfChanged(filepath.Join(s.compiler.caches, f.name), text); err != nil {
			if s.log != nil {
				s.log.Warn("sandbox: write settings for package managers", "file", f.name, "error", err)
			}
			continue
		}
		env = append(env, f.variable+"="+filepath.Join(at, f.name))
	}
	return env
}

// writeIfChanged writes a file that commands may also write, unless it already has this text. It
// avoids needless writes to the disk.
func writeIfChanged(name string, text []byte) error {
	if diskfile.HasContent(name, text) {
		return nil
	}
	return diskfile.WriteUnsynced(name, text)
}

// loginMessages are the messages of package managers when a server requires a login.
var loginMessages = []string{
	"e401", "e403", "e404", "eneedauth", "401 unauthorized", "status code 401", "error 401", "returned error: 401", "401 error", "403 forbidden", "authentication", "unauthorized",
	"user for ", // pip asks for a name
}

// loginFailures reports files that commands cannot read and that contain a login for a host that the
// command reached. It reports them only if the output says that a request was rejected. The
// parameter text is the end of the command's output.
func (s *Sandbox) loginFailures(reached []string, text string) (out []Violation) {
	text = strings.ToLower(text)
	if len(reached) == 0 || !slices.ContainsFunc(loginMessages, func(words string) bool { return strings.Contains(text, words) }) {
		return nil
	}
	for _, l := range registries.Logins(s.compiler.home) {
		if !slices.Contains(reached, l.Host) || s.Explain(l.File, policy.OpRead) == nil {
			continue
		}
		out = append(out, Violation{
			Kind: kindPath, Subject: l.File, Op: verb(policy.OpRead), Setting: fieldReadMore, Reason: "it contains a login for " + l.Host + " that commands cannot read",
			Hint: "to let commands read the whole file, and so use and send its content: holdfast sandbox allow --read " + shellparse.Canonical(l.File),
		})
	}
	return out
}
