// Package audit is `holdfast audit`: show, verify, export and sign the audit trail.
package audit

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast audit`.
func Command(p *command.Program) *command.Command {
	return p.Group("audit", "Show, verify and export the audit trail.",
		p.Command(&showCmd{}, "show", "Show the audit trail of a session: every decision, who made it, and its outcome."),
		p.Command(&verifyCmd{}, "verify", "Verify the audit trail, and print the first record that fails."),
		p.Command(&exportCmd{}, "export", "Export audit entries as jsonl, csv, ocsf, cloudevents or html."),
		p.Command(&checkpointCmd{}, "checkpoint", "Print a signed checkpoint of the trail. Store it on another machine."),
	)
}

// auditFilter selects entries.
type auditFilter struct {
	Kind  []string
	Tool  string
	Actor string
	Since string
	Until string
}

func (c *auditFilter) Declare(b *command.Builder) {
	b.Words(&c.Kind, "kind", "", "KIND", "Only entries of this kind: session, run, decision, effect, approval, policy, hook, redaction or access. Repeatable.")
	b.Flag(&c.Tool, "tool", "", "TOOL", "Only entries about this tool.")
	b.Flag(&c.Actor, "actor", "", "NAME", "Only entries by this actor: a name, or person, rule, mode, hook, nobody …")
	b.Flag(&c.Since, "since", "", "TIME", "Only entries since this time: 2026-11-20, 2026-11-20T15:04:05Z, or an age such as 2h or 3d.")
	b.Flag(&c.Until, "until", "", "TIME", "Only entries before this time.")
}

// accessFlag selects the access log.
type accessFlag struct {
	Access bool
}

func (c *accessFlag) Declare(b *command.Builder) {
	b.Flag(&c.Access, "access", "", "", "Use the daemon's access log instead of a session: logins, created and revoked tokens, and refused credentials.")
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
	b.Optional(&c.Session, "session", "A session: an id, its first or last characters, or a title. Default: the newest session.")
	b.Include(&c.auditFilter)
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *showCmd) Help() string {
	return `Each line is one entry: a decision and who made it, a tool call and its outcome, an approval
and its answer, a policy change, or the hooks that ran. A decision is made by a person, a rule,
a mode, a hook, or by nobody. With --json, each entry also has the file and line of the rule,
digests of the request, the changed files, and the chain of digests.

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
	b.Flag(&c.Session, "session", "", "SESSION", "Verify only this session. Default: every session of the store.")
	b.Flag(&c.Checkpoint, "checkpoint", "", "FILE", "Check that the trail continues from this checkpoint, saved earlier with audit checkpoint. Use - for standard input.")
	b.Flag(&c.Key, "key", "", "KEY", "The verifier key of the checkpoints, or a file with it. Default: the trail's own key.")
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *verifyCmd) Help() string {
	return `Compares every record with its digest and with the record before it, every log with the audit
trail, and the trail with its signed checkpoints. The daemon's access log is checked too. This
finds changed, removed, added and reordered records, recomputed digests, and a truncated log.
Prints the first bad record of each session and exits with code 8; --json prints all of them.

A checkpoint stored elsewhere also detects changes by someone who has the trail's signing key:

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
	b.Optional(&c.Session, "session", "A session: an id, its first or last characters, or a title. Default: the newest session.")
	b.Flag(&c.All, "all", "a", "", "Export every session of the store, oldest first, and the access log.")
	c.Format = "jsonl"
	b.Flag(&c.Format, "format", "", "FORMAT", "Output format. jsonl: canonical JSON, one entry per line; csv; ocsf: Open Cybersecurity Schema Framework 1.3; cloudevents: CloudEvents 1.0; html: one page.", "jsonl", "csv", "ocsf", "cloudevents", "html")
	b.Flag(&c.Output, "output", "o", "FILE", "Write to this file. It is created only when the export is complete. Default: standard output.")
	b.Include(&c.auditFilter)
	b.Include(&c.accessFlag)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *exportCmd) Help() string {
	return `Every entry has the digest of the one before it, so an export of a whole session can be checked
by itself. The export stops at the first changed record, so it never contains unverified entries.

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
	return `The checkpoint is a signed note with the number of entries in the trail and the hash of all of
them. Store it where the account that runs agents cannot write. Later,
holdfast audit verify --checkpoint FILE proves that nothing before it was changed.`
}
