-- What every script begins with. KEYS[1] is the format key, ARGV[1] the beginning of
-- all keys, ARGV[2] the session. An answer is a list whose first word says how it went.
local base, id = ARGV[1], ARGV[2]
local format = redis.call('GET', KEYS[1])
if format ~= 'holdfast redis store 1' then
  return {'format', format or ''}
end
local SESSION, RECORDS = base .. 'session:' .. id, base .. 'records:' .. id
local LEASE, NEWS = base .. 'lease:' .. id, base .. 'news:' .. id

-- fenced refuses who does not hold the lease.
local function fenced(epoch)
  local now = redis.call('HGET', LEASE, 'epoch')
  if now ~= epoch then
    return {'fenced', now or ''}
  end
end

-- clock is the server's time in milliseconds, 0 for a user who may not ask for it.
local function clock()
  local t = redis.pcall('TIME')
  if t.err then
    return '0'
  end
  return t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end

-- former is whom the lease was taken from: the epoch and the lease.
local function former()
  local l = redis.call('HMGET', LEASE, 'former', 'former_lease')
  return l[1] or '', l[2] or ''
end

-- each calls f with ARGV[from] to ARGV[to], in slices that fit the stack.
local function each(from, to, f)
  for i = from, to, 1000 do
    f(unpack(ARGV, i, math.min(i + 999, to)))
  end
end

-- digest is where the digest lies in a record.
local function digest(record)
  return string.sub(record, 86, 117)
end

-- present tells whether the records ARGV[from]... are there already, from seq expect + 1 on.
local function present(parent_seq, expect, from)
  local at = tonumber(expect) - tonumber(parent_seq)
  if at < 0 then
    return false
  end
  for i = from, #ARGV do
    local have = redis.call('LINDEX', RECORDS, at + i - from)
    if not have or digest(have) ~= digest(ARGV[i]) then
      return false
    end
  end
  return true
end

local function push(from)
  each(from, #ARGV, function(...) redis.call('RPUSH', RECORDS, ...) end)
end

local FILTERS = {'project', 'cwd', 'tag', 'parent', 'owner', 'run'}

-- filed puts a member into the set of a filter or takes it out.
local function filed(command, field, value, member)
  if value and value ~= '' then
    redis.call(command, base .. 'by:' .. field .. ':' .. value, member)
    if field == 'run' then
      redis.call(command, base .. 'by:run', member)
    end
  end
end

-- listing puts the session, as its hash is now, into what lists look at, or out of it.
local function listing(into)
  local v = redis.call('HMGET', SESSION, 'at', 'updated', 'trashed', 'questions', unpack(FILTERS))
  local member, command = v[1] .. id, into and 'SADD' or 'SREM'
  if into then
    redis.call('ZADD', base .. (v[3] and 'trash' or 'live'), v[2], member)
  else
    redis.call('ZREM', base .. 'live', member)
    redis.call('ZREM', base .. 'trash', member)
  end
  if tonumber(v[4] or '0') > 0 then
    redis.call(command, base .. 'by:asked', member)
  end
  for i, field in ipairs(FILTERS) do
    filed(command, field, v[4 + i], member)
  end
end

-- put sets fields of the session from ARGV[from] to ARGV[to], name and value in turn; an
-- empty value is no field.
local function put(from, to)
  for i = from, to, 2 do
    if ARGV[i + 1] == '' then
      redis.call('HDEL', SESSION, ARGV[i])
    else
      redis.call('HSET', SESSION, ARGV[i], ARGV[i + 1])
    end
  end
end
