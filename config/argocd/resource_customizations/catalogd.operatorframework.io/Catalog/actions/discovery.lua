local actions = {}
actions["refresh"] = {
  ["disabled"] = obj.spec.availability == "Unavailable",
  ["iconClass"] = "fa fa-fw fa-sync",
  ["displayName"] = "Refresh"
}
return actions
