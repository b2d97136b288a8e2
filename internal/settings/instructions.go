package settings

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/patterns"
)

// Texts say which instruction files are read.
type Texts struct {
	Mode     Value[string]   // contextFiles: all, nearest, none; "" when nobody says
	Excludes []Value[string] // claudeMdExcludes: globs of absolute paths
}

// textModes are what contextFiles may be.
var textModes = []string{"all", "nearest", "none"}

func (s *parsedSource) contextFiles(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	switch {
	case !ok:
	case !slices.Contains(textModes, text):
		s.fault(n.At, "write "+strings.Join(textModes, ", "), "%s: there is no %q", path, text)
	default:
		s.reads.Mode = Value[string]{text, s.origin(n, text)}
	}
}

func (s *parsedSource) excludes(path string, n jsontree.Node) {
	s.texts(path, n, func(at string, item jsontree.Node) {
		glob := item.Text
		if rest, ok := strings.CutPrefix(glob, "~/"); ok && s.user != "" {
			glob = filepath.Join(s.user, rest)
		}
		switch {
		case patterns.CheckGlob(glob) != nil:
			s.fault(item.At, `write a glob such as "**/vendor/**/CLAUDE.md"`, "%s: %q is not a usable glob", at, item.Text)
		case !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**"):
			s.fault(item.At, `write "**/`+item.Text+`"`, "%s: %q fits nothing: whole paths are compared", at, item.Text)
		default:
			s.reads.Excludes = append(s.reads.Excludes, Value[string]{glob, s.origin(item, item.Text)})
		}
	})
}

// addTexts joins what the layers say. An untrusted folder does not say what is left out.
func (m *merger) addTexts(s *parsedSource) {
	if !s.untrusted {
		prefer(&m.out.Texts.Mode, s.reads.Mode)
		m.out.Texts.Excludes = append(m.out.Texts.Excludes, s.reads.Excludes...)
		return
	}
	if s.reads.Mode.Value != "" {
		m.ignore("contextFiles "+s.reads.Mode.Value, s.reads.Mode.Origin)
	}
	for _, e := range s.reads.Excludes {
		m.ignore("claudeMdExcludes "+e.Origin.Rule, e.Origin)
	}
}

// TrustedTexts is how far a person trusts what the project's folder has for agents to read.
type TrustedTexts struct {
	Folder bool   // its instructions are the person's: the folder is trusted
	Skills string // the digest of its skills and commands, as they were trusted
}

// TrustedTexts reads the list of trusted folders for that.
func (s *Settings) TrustedTexts() (TrustedTexts, error) {
	t, err := s.opt.trust()
	if err != nil {
		return TrustedTexts{}, err
	}
	f := t.doc.Folders[s.Project]
	return TrustedTexts{Folder: f.Texts || f.Digest != "", Skills: f.Skills}, nil
}

// AddTexts trusts the project's instruction files, whatever they say, and its skills and
// commands as they are now: skills is their digest, or "".
func (t *Trust) AddTexts(s *Settings, skills string, now time.Time) error {
	f := t.doc.Folders[s.Project]
	f.TrustedAt, f.Texts, f.Skills = now.UTC(), true, skills
	t.doc.Folders[s.Project] = f
	return t.save()
}
