package settings

import (
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

func (s *Settings) ruleOptions() policy.RuleOptions {
	return policy.RuleOptions{Home: s.opt.User, Cwd: s.opt.Cwd, Resolve: Resolve}
}

// Policy returns the configuration of guards: rules, mode, limits and folders. The caller adds the
// host's parts (a callback, policies, ids).
func (s *Settings) Policy() (policy.Config, error) {
	rules, _, err := s.ruleOptions().Compile(s.Rules)
	if err != nil {
		return policy.Config{}, err
	}
	limits, err := s.limits()
	if err != nil {
		return policy.Config{}, err
	}
	return policy.Config{
		Mode: s.Mode.Value, NoBypass: s.NoBypass != nil, Rules: rules, Limits: limits, Protected: s.ownPaths(), Folders: s.folders(), Home: s.opt.User, Resolve: Resolve,
	}, nil
}

// folders returns the session's folders: its working folder and the additional ones.
func (s *Settings) folders() []string {
	list := []string{s.opt.Cwd}
	for _, f := range s.Folders {
		list = append(list, Resolve(f.Value))
	}
	return list
}

// Resolve resolves the links of an absolute path; parts that do not exist keep their names. It
// reads no file content.
func Resolve(path string) string {
	plain, err := realpath.Normalize(path, "/", "")
	if err != nil {
		return filepath.Clean(path)
	}
	return plain
}

// Cwd returns the session's folder, without links.
func (s *Settings) Cwd() string { return s.opt.Cwd }

// ForFolder returns the same settings for a session in another folder: paths relative to the
// current folder change, and nothing is read again.
func (s *Settings) ForFolder(cwd string) *Settings {
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(s.opt.Cwd, cwd)
	}
	other := *s
	other.opt.Cwd = Resolve(filepath.Clean(cwd))
	return &other
}
