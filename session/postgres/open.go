package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/session"
)

// defaultSchema is the schema if the URL sets none.
const defaultSchema = "holdfast"

// defaultConns is the maximum number of connections if the URL sets none.
const defaultConns = 16

// target is a parsed URL.
type target struct {
	config  *pgxpool.Config
	schema  string
	relaxed bool
	secrets []string
}

// parse parses a URL. It supports PostgreSQL's own parameters, and schema and durability.
func parse(text string) (*target, error) {
	bad := func(detail string) error {
		return &session.Error{
			Op: "open store", Err: session.ErrInvalid, Detail: detail,
			Hint: "postgres://user:password@host:5432/database?schema=" + defaultSchema,
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, bad("not a PostgreSQL URL") // the text may contain a password, so it is not shown
	}
	if u.Fragment != "" {
		return nil, bad("the URL has a fragment (#); write # in a password as %23")
	}
	if before, _, _ := strings.Cut(text, "?"); u.User == nil && strings.Contains(before, "@") {
		return nil, bad("the @ does not follow a user and password; percent-encode special characters of a password, for example / as %2F")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, bad("the URL has invalid parameters")
	}
	p := &target{schema: defaultSchema}
	if word, ok := u.User.Password(); ok {
		p.secrets = append(p.secrets, word)
	}
	for _, name := range []string{"password", "sslpassword"} {
		p.secrets = append(p.secrets, q[name]...)
	}
	for name, values := range q {
		if len(values) > 1 {
			return nil, bad("duplicate parameter " + name)
		}
	}
	schema, path := q.Get("schema"), q.Get("search_path")
	if schema != "" && path != "" {
		return nil, bad("use only one of the parameters schema and search_path")
	}
	if schema += path; schema != "" {
		p.schema = schema
	} else if q.Has("schema") || q.Has("search_path") {
		return nil, bad("the schema name is empty")
	}
	if len(p.schema) > 63 || strings.ContainsAny(p.schema, "\x00,\"$") || strings.HasPrefix(p.schema, "pg_") {
		return nil, bad(fmt.Sprintf("invalid schema name %q", p.schema))
	}
	switch d := q.Get("durability"); {
	case d == "relaxed":
		p.relaxed = true
	case d != "strict" && q.Has("durability"):
		return nil, bad(fmt.Sprintf("durability=%s: want strict or relaxed", d))
	}
	connsSet := q.Has("pool_max_conns")
	for _, name := range []string{"schema", "search_path", "durability"} {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	if p.config, err = pgxpool.ParseConfig(u.String()); err != nil {
		return nil, bad(p.removeSecrets(err.Error()))
	}
	if !connsSet {
		p.config.MaxConns = defaultConns
	}
	p.setParameters()
	return p, nil
}

// setParameters sets the parameters of every connection.
func (p *target) setParameters() {
	c := p.config.ConnConfig
	c.RuntimeParams["search_path"] = pgx.Identifier{p.schema}.Sanitize()
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "holdfast"
	}
	// Transactions must see the current rows, not those from
	// their start, and text must not be converted.
	c.RuntimeParams["default_transaction_isolation"] = "read committed"
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if p.config.PingTimeout == 0 {
		p.config.PingTimeout = pingTime
	}
	if !p.relaxed {
		p.config.AfterConnect = p.forceDurability
	}
}

// pingTime is the timeout for a connection that was idle. The server may have disappeared without
// closing it.
const pingTime = 2 * time.Second

// forceDurability makes the commits of a connection durable. It checks the server for each
// connection: since the store was opened, the settings may have changed, or another server may have
// replaced this one. Settings that are stronger than "on" are not changed.
func (p *target) forceDurability(ctx context.Context, c *pgx.Conn) error {
	var fsync string
	err := c.QueryRow(ctx, `SELECT current_setting('fsync'),
CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END`).Scan(&fsync, new(*string))
	if err != nil || fsync == "on" {
		return err
	}
	return &session.Error{
		Op: "open store", Err: session.ErrUnsupported, Detail: "the server of " + p.String() + " has fsync off and may lose acknowledged writes",
		Hint: "set fsync = on in postgresql.conf, or accept that with durability=relaxed in the URL",
	}
}

// removeSecrets removes passwords from a text.
func (p *target) removeSecrets(text string) string {
	for _, s := range p.secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if form != "" {
				text = strings.ReplaceAll(text, form, "xxxxx")
			}
		}
	}
	return text
}

// String returns the database and the schema, without a password.
func (p *target) String() string {
	c := p.config.ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return fmt.Sprintf("postgres://%s@/%s?host=%s&schema=%s", c.User, c.Database, c.Host, p.schema)
	}
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	return fmt.Sprintf("postgres://%s@%s/%s?schema=%s", c.User, host, c.Database, p.schema)
}

// setUp checks the server, and creates or migrates the schema.
func (s *Store) setUp(ctx context.Context, c *pgx.Conn) error {
	var encoding string
	var standby bool
	err := c.QueryRow(ctx, `SELECT current_setting('server_encoding'), pg_is_in_recovery()`).Scan(&encoding, &standby)
	if err != nil {
		return err
	}
	switch {
	case encoding != "UTF8":
		return &session.Error{
			Op: "open store", Err: session.ErrUnsupported, Detail: "the encoding of " + s.at.String() + " is " + encoding,
			Hint: "create a database with: createdb --encoding=UTF8 --template=template0 NAME",
		}
	case standby:
		return &session.Error{
			Op: "open store", Err: session.ErrReadOnly, Detail: s.at.String() + " is a standby",
			Hint: "use the primary, or add target_session_attrs=read-write to the URL",
		}
	}
	if !s.at.relaxed {
		if err := s.at.forceDurability(ctx, c); err != nil {
			return err
		}
	}
	if ready, err := s.isCurrent(ctx, c); err != nil || ready {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return s.migrate(ctx, tx) })
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns the version of the schema, or 0 if there is none yet.
func (s *Store) version(ctx context.Context, c querier) (int, error) {
	foreign := func(detail string) error {
		return &session.Error{
			Op: "open store", Err: session.ErrInvalid, Detail: "the schema " + s.at.schema + " " + detail,
			Hint: "choose another schema with schema=NAME in the URL",
		}
	}
	var tables int
	var marked bool
	err := c.QueryRow(ctx, `SELECT count(*), coalesce(bool_or(relname = 'format' AND relkind = 'r'), false)
FROM pg_class WHERE relnamespace = to_regnamespace($1)`, pgx.Identifier{s.at.schema}.Sanitize()).Scan(&tables, &marked)
	if err != nil || tables == 0 {
		return 0, err
	}
	if !marked {
		return 0, foreign("contains unrelated tables")
	}
	var mark string
	var version int
	err = c.QueryRow(ctx, `SELECT mark::text, version::integer FROM format`).Scan(&mark, &version)
	switch {
	case isUndefined(err), errors.Is(err, pgx.ErrNoRows), err == nil && (mark != formatMark || version < 1):
		return 0, foreign("is not a holdfast schema")
	case err != nil:
		return 0, err
	case version > formatVersion:
		return 0, &session.Error{
			Op: "open store", Err: session.ErrNewer,
			Detail: fmt.Sprintf("%s has format %d, but this program supports up to %d", s.at, version, formatVersion),
			Hint:   "upgrade holdfast",
		}
	}
	return version, nil
}

func (s *Store) isCurrent(ctx context.Context, c querier) (bool, error) {
	v, err := s.version(ctx, c)
	return v == formatVersion, err
}

// migrate upgrades the schema to this version in one transaction. If several programs try, one of
// them upgrades the schema, and the others find the new version.
func (s *Store) migrate(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, lockKey, s.key("format")); err != nil {
		return err
	}
	v, err := s.version(ctx, tx)
	if err != nil || v == formatVersion {
		return err
	}
	if v == 0 {
		if err := s.makeSchema(ctx, tx); err != nil {
			return err
		}
	}
	for i := v; i < formatVersion; i++ {
		if _, err := tx.Exec(ctx, formats[i], pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	if v == 0 {
		_, err = tx.Exec(ctx, `INSERT INTO format VALUES ($1, $2)`, formatMark, formatVersion)
	} else {
		_, err = tx.Exec(ctx, `UPDATE format SET version = $1`, formatVersion)
	}
	return err
}

// makeSchema creates the schema, or uses an existing empty one.
func (s *Store) makeSchema(ctx context.Context, tx pgx.Tx) error {
	name := pgx.Identifier{s.at.schema}.Sanitize()
	var there bool
	if err := tx.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, name).Scan(&there); err != nil || there {
		return err
	}
	_, err := tx.Exec(ctx, `CREATE SCHEMA `+name)
	return err
}
