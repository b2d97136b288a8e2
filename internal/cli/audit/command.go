// Package audit is `holdfast audit`: show, verify, export and sign the audit trail.
package audit

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast audit`.
func Command(p *command.Program) *command.Command {
	return p.Group("audit", "Show, verify and export the audit trail.",
		p.Command(&showCmd{}, "show", "Show who let what happen in a session, and what came of it."),
		p.Command(&verifyCmd{}, "verify", "Prove that nothing was changed, or say where the first bad record is."),
		p.Command(&exportCmd{}, "export", "Write evidence as jsonl, csv, ocsf, cloudevents or html."),
		p.Command(&checkpointCmd{}, "checkpoint", "Sign what the trail holds and print it, to be kept elsewhere."),
	)
}

// auditFilter picks entries.
type auditFilter struct {
	Kind  []string
	Tool  string
	Actor string
	Since string
	Until string
}

func (c *auditFilter) Declare(b *command.Builder) {
	b.Words(&c.Kind, "kind", "", "KIND", "Only entries of this kind: session, run, decision, effect, approval, policy, hook, redaction or access; may be repeated.")
	b.Flag(&c.Tool, "tool", "", "TOOL", "Only entries about this tool.")
	b.Flag(&c.Actor, "actor", "", "NAME", "Only what this one decided or did: a name, or person, rule, mode, hook, nobody …")
	b.Flag(&c.Since, "since", "", "TIME", "Only entries from then on: 2026-11-20, 2026-11-20T15:04:05Z, or 2h, 3d ago.")
	b.Flag(&c.Until, "until", "", "TIME", "Only entries before then.")
}

// accessFlag says which log is meant.
type accessFlag struct {
	Access bool
}

func (c *accessFlag) Declare(b *command.Builder) {
	b.Flag(&c.Access, "access", "", "", "The log of this home's daemon instead of a session: logins, tokens that were made and revoked, refused credentials.")
}

// showCmd is `holdfast audit show`.
type showCmd struct {
	Session string
	auditFilter
	accessFlag
	command.StoreFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Optional(&c.Session, "session", "An id, a title, or the beginning of an id; default the newest session.")
	b.Include(&c.auditFilter)
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *showCmd) Help() string {
	return `Each line is a piece of evidence: a decision with who made it, a call with what came of
it, a question and its answer, a change of the policy, hooks that ran. A person, a rule, a
mode, a hook or nobody is who decided; with --json it stands there with file and line, the
digests of what was asked, the files that changed, and the chain of the evidence.

  holdfast audit show
  holdfast audit show --kind decision --actor person --since 1d
  holdfast audit show --access`
}

// verifyCmd is `holdfast audit verify`.
type verifyCmd struct {
	Session    string
	Checkpoint string
	Key        string
	accessFlag
	command.StoreFlags
	command.JSONFlag
}

func (c *verifyCmd) Declare(b *command.Builder) {
	b.Flag(&c.Session, "session", "", "SESSION", "This one only; default every session of the store.")
	b.Flag(&c.Checkpoint, "checkpoint", "", "FILE", "A checkpoint that was kept elsewhere; the trail must go on from it. - is standard input.")
	b.Flag(&c.Key, "key", "", "KEY", "The verifier key that checkpoints must be signed with, or a file with it; default the trail's own.")
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *verifyCmd) Help() string {
	return `Every record is compared with its digest and the one before it, every log with the audit
trail, and that with its signed checkpoints; so is the log of logins and tokens. So a changed, removed, added or swapped record
is found, also when the digests were made anew, and an end that was cut off. The first bad
record of each session is printed, and the exit code is 8; --json has them all.

A checkpoint that was kept elsewhere finds also what somebody did who holds the trail's key:

  holdfast audit checkpoint >checkpoint-$(date +%F)
  holdfast audit verify --checkpoint checkpoint-2026-11-20`
}

// exportCmd is `holdfast audit export`.
type exportCmd struct {
	Session string
	All     bool
	Format  string
	Output  string
	auditFilter
	accessFlag
	command.StoreFlags
	command.JSONFlag
}

func (c *exportCmd) Declare(b *command.Builder) {
	b.Optional(&c.Session, "session", "An id, a title, or the beginning of an id; default the newest session.")
	b.Flag(&c.All, "all", "a", "", "Every session of the store, the oldest first, and the log of logins and tokens.")
	c.Format = "jsonl"
	b.Flag(&c.Format, "format", "", "FORMAT", "jsonl: canonical JSON, one entry per line; csv; ocsf: Open Cybersecurity Schema Framework 1.3; cloudevents: CloudEvents 1.0; html: one page.", "jsonl", "csv", "ocsf", "cloudevents", "html")
	b.Flag(&c.Output, "output", "o", "FILE", "Write to this file, which appears when it is whole; default standard output.")
	b.Include(&c.auditFilter)
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *exportCmd) Help() string {
	return `Every entry has the digest of the one before it, so an export of a whole session can be
checked by itself. A record that was changed ends the export: nothing is exported that is
no evidence.

  holdfast audit export --format html -o audit.html
  holdfast audit export --all --format ocsf | gzip >events.gz`
}

// checkpointCmd is `holdfast audit checkpoint`.
type checkpointCmd struct {
	accessFlag
	command.StoreFlags
}

func (c *checkpointCmd) Declare(b *command.Builder) {
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
}

func (c *checkpointCmd) Help() string {
	return `The checkpoint is a signed note: how many leaves the trail has, and the hash that stands
for all of them. Whoever keeps it where the account that runs agents cannot write can prove
later that nothing from before was changed: holdfast audit verify --checkpoint FILE.`
}
