package settings

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/patterns"
)

// Texts says which instruction files are read.
type Texts struct {
	Mode     Value[string]   // contextFiles: all, nearest, none; "" if not set
	Excludes []Value[string] // claudeMdExcludes: globs of absolute paths
}

// textModes are the values of contextFiles.
var textModes = []string{"all", "nearest", "none"}

func (s *parsedSource) contextFiles(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	switch {
	case !ok:
	case !slices.Contains(textModes, text):
		s.fault(n.At, "write "+strings.Join(textModes, ", "), "%s: unknown value %q", path, text)
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
			s.fault(item.At, `write "**/`+item.Text+`"`, "%s: %q never matches: it is compared with whole paths", at, item.Text)
		default:
			s.reads.Excludes = append(s.reads.Excludes, Value[string]{glob, s.origin(item, item.Text)})
		}
	})
}

// addTexts combines the layers. An untrusted folder cannot exclude files.
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

// TrustedTexts says how far the user trusts the project folder's texts for agents.
type TrustedTexts struct {
	Folder bool   // the folder is trusted, so its instructions are treated as the user's
	Skills string // digest of its trusted skills and commands
}

// TrustedTexts returns which of the folder's texts the user trusts, according to the trust list.
func (s *Settings) TrustedTexts() (TrustedTexts, error) {
	t, err := s.opt.trust()
	if err != nil {
		return TrustedTexts{}, err
	}
	f := t.doc.Folders[s.Project]
	return TrustedTexts{Folder: f.Texts || f.Digest != "", Skills: f.Skills}, nil
}

// AddTexts trusts the project's instruction files, whatever their content, and its skills and
// commands in their current form: skills is their digest, or "".
func (t *Trust) AddTexts(s *Settings, skills string, now time.Time) error {
	f := t.doc.Folders[s.Project]
	f.TrustedAt, f.Texts, f.Skills = now.UTC(), true, skills
	t.doc.Folders[s.Project] = f
	return t.save()
}
