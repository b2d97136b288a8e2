-- list: live|trash limit score member worktrees metas unowned, names of sets. Answers with
-- what follows that place, newest first: member, time of update and, if asked for, the fields.
local index, limit = base .. ARGV[3], tonumber(ARGV[4])
local score, after = ARGV[5] ~= '' and tonumber(ARGV[5]), ARGV[6]
local out, sets = {'ok'}, {}
local total = redis.call('ZCARD', index)
local fewest = total
for i = 10, #ARGV do
  sets[#sets + 1] = base .. ARGV[i]
  fewest = math.min(fewest, redis.call('SCARD', sets[#sets]))
end
if fewest == 0 then
  return out
end
if limit <= 0 then
  limit = total
end

-- before compares bytes: the operator goes by the server's language.
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end
local function follows(member, at)
  at = tonumber(at)
  return not score or at < score or at == score and before(member, after)
end
local function add(member, at)
  local name = string.sub(member, 17)
  local owned = ARGV[9] == '1' and (redis.call('HGET', base .. 'session:' .. name, 'owner') or '') ~= ''
  if not owned and (ARGV[7] == '1' or string.sub(name, 1, 3) ~= 'wt-') then
    local fields = ARGV[8] == '1' and redis.call('HGETALL', base .. 'session:' .. name) or {}
    out[#out + 1] = {member, at, fields}
  end
end

-- Walking along the order is cheap where most sessions fit, intersecting where few do.
-- A walk that has cost as much as an intersection is given up for one.
local patience = #sets == 0 and total or (limit * total < fewest * fewest and 2 * fewest or 0)
if patience > 0 then
  local from = 0
  if score then
    local low, high = redis.call('ZCOUNT', index, '(' .. ARGV[5], '+inf'), redis.call('ZCOUNT', index, ARGV[5], '+inf')
    while low < high do
      local mid = math.floor((low + high) / 2)
      if before(redis.call('ZREVRANGE', index, mid, mid)[1], after) then
        high = mid
      else
        low = mid + 1
      end
    end
    from = low
  end
  local walked = 0
  while walked < patience do
    local page = redis.call('ZREVRANGE', index, from + walked, from + walked + 99, 'WITHSCORES')
    for i = 1, #page, 2 do
      local fits = true
      for _, set in ipairs(sets) do
        fits = fits and redis.call('SISMEMBER', set, page[i]) == 1
      end
      if fits then
        add(page[i], page[i + 1])
        if #out > limit then
          return out
        end
      end
    end
    if #page < 200 then
      return out
    end
    walked = walked + 100
  end
  if #sets == 0 then
    return out
  end
  out = {'ok'}
end
local args = {#sets + 1, index}
for _, set in ipairs(sets) do
  args[#args + 1] = set
end
args[#args + 1] = 'WEIGHTS'
args[#args + 1] = 1
for _ = 1, #sets do
  args[#args + 1] = 0
end
args[#args + 1] = 'WITHSCORES'
local found = redis.call('ZINTER', unpack(args))
for i = #found - 1, 1, -2 do
  if follows(found[i], found[i + 1]) then
    add(found[i], found[i + 1])
    if #out > limit then
      break
    end
  end
end
return out
