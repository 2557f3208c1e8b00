-- This kind has no status.observedGeneration: each condition says for which generation it was set.
local health_status = {status = "Progressing", message = "Waiting for operator-controller to report on this generation"}
if obj.status == nil or obj.status.conditions == nil then
  return health_status
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  if condition.observedGeneration == obj.metadata.generation then
    conditions[condition.type] = condition
  end
end
local missing = {status = "Unknown", reason = "", message = ""}
local progressing = conditions.Progressing
if progressing == nil then
  return health_status
end
local installed = conditions.Installed or missing
local available = conditions.Available or missing
health_status.message = progressing.message

if obj.metadata.deletionTimestamp ~= nil then
  health_status.status = "Progressing"
elseif progressing.status == "False" then
  health_status.status = "Degraded"
elseif progressing.reason == "Succeeded" then
  if installed.status ~= "True" then
    health_status.message = installed.message
  elseif available.status ~= "True" then
    health_status.message = available.message
  else
    health_status.status = "Healthy"
    health_status.message = installed.message
  end
end
return health_status
