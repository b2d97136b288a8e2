package settings

import (
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

func (s *Settings) ruleOptions() policy.RuleOptions {
	return policy.RuleOptions{Home: s.opt.User, Cwd: s.opt.Cwd, Resolve: Resolve}
}

// Policy builds what guards are made from: rules, mode, limits and folders. What
// the host adds (a callback, policies, ids) is for the caller to fill in.
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

// folders are the session's: where it works, and the additional ones.
func (s *Settings) folders() []string {
	list := []string{s.opt.Cwd}
	for _, f := range s.Folders {
		list = append(list, Resolve(f.Value))
	}
	return list
}

// Resolve takes the links out of an absolute path; what does not exist keeps its
// name. It looks at the file system and reads nothing.
func Resolve(path string) string {
	plain, err := realpath.Normalize(path, "/", "")
	if err != nil {
		return filepath.Clean(path)
	}
	return plain
}

// Cwd is the folder that the session works in, without links.
func (s *Settings) Cwd() string { return s.opt.Cwd }

// ForFolder returns the same settings for a session that works in another folder: what is
// relative to the current folder moves along, and nothing else is read.
func (s *Settings) ForFolder(cwd string) *Settings {
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(s.opt.Cwd, cwd)
	}
	other := *s
	other.opt.Cwd = Resolve(filepath.Clean(cwd))
	return &other
}
